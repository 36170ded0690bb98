"""Publishing and importing while others do: no record is lost, no run in progress is touched."""

import json
import subprocess
import sys

import pytest

from lra.run import RUNNER, TRAINING, Run
from tests.conftest import ROOT
from tests.tables.records import make_record

APPEND = """
import sys
from pathlib import Path
from lra.runs.collection import append_new
from tests.tables.records import make_record
print("ready", flush=True)
sys.stdin.readline()
record = make_record(seed=int(sys.argv[2]))
append_new(Path(sys.argv[1]), lambda there: [] if record in there else [record])
"""


def lay(folder, record, **files):
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(record))
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


@pytest.mark.slow
def test_eight_at_once_append_eight_records(tmp_path):
    target = tmp_path / "published/all.jsonl"
    words = [sys.executable, "-c", APPEND, str(target)]
    children = [
        subprocess.Popen([*words, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        for seed in range(8)
    ]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    assert [child.wait(60) for child in children] == [0] * 8
    seeds = [json.loads(line)["identity"]["seed"] for line in target.read_text().splitlines()]
    assert sorted(seeds) == list(range(8))


def test_a_last_line_without_an_end_is_not_run_into(home, result_of):
    lay(home / "table/a/seed1", make_record(seed=1))
    target = home / "published/x.jsonl"
    target.parent.mkdir()
    target.write_text(json.dumps(make_record(seed=0)))
    published = result_of("publish", "run_group=table", "name=x")
    assert (published.appended, published.were_there) == (1, 0)
    assert [json.loads(line)["identity"]["seed"] for line in target.read_text().splitlines()] == [0, 1]


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "", "x" * 300, ".hidden", "a\\b"])
def test_a_published_file_stays_in_its_folder(home, tmp_path, refused, name):
    lay(home / "table/a/seed1", make_record(seed=1))
    before = {path for path in tmp_path.rglob("*")}
    error = refused("publish", "run_group=table", f"name='{name}'")
    wrong = ("bad_name", "name", name) if name else ("empty", "name", None)
    assert (error.kind, error.key, error.value) == wrong
    assert {path for path in tmp_path.rglob("*")} == before


@pytest.fixture
def other(tmp_path):
    """A run of another machine, and where it goes here."""
    return lay(tmp_path / "other/seed0", make_record(), best_ckpt="foreign", metrics_csv="foreign")


def place_of(result_of, home, other):
    result_of("import", str(other))
    (record,) = home.rglob("result.json")
    for path in record.parent.iterdir():
        path.unlink()
    return record.parent


@pytest.mark.slow
@pytest.mark.parametrize("file", [TRAINING, RUNNER])
def test_a_run_in_progress_is_left_alone(home, result_of, refused, other, file):
    folder = place_of(result_of, home, other)
    (folder / "best.ckpt").write_text("ours")
    with Run(folder).lock(file):
        error = refused("import", str(other))
    assert error.kind == "no_records"
    assert (error.__cause__.kind, error.__cause__.key) == ("in_progress", str(folder))
    assert str(folder) in str(error)
    assert (folder / "best.ckpt").read_text() == "ours"
    assert not (folder / "result.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("file", ["last.ckpt", "best.ckpt"])
def test_a_run_that_was_begun_here_is_never_mixed(home, result_of, refused, other, file):
    folder = place_of(result_of, home, other)
    (folder / file).write_text("ours")
    error = refused("import", str(other))
    assert error.kind == "no_records"
    assert (error.__cause__.kind, error.__cause__.key) == ("begun_here", str(folder))
    assert [path.name for path in folder.iterdir() if not path.name.endswith("lock")] == [file]


def test_a_run_group_in_a_folder_is_imported_into_that_folder(home, tmp_path, result_of):
    record = make_record(seed=8)
    record["identity"]["run_group"] = "mine/first"
    lay(tmp_path / "other/run", record)
    assert result_of("import", str(tmp_path / "other")).copied == 1
    assert list((home / "mine/first").rglob("result.json"))


def test_what_is_left_out_does_not_stop_the_others(home, tmp_path, result_of, other):
    record = make_record(seed=7)
    record["identity"]["run_group"] = "../../elsewhere"
    lay(tmp_path / "other/evil", record)
    imported = result_of("import", str(tmp_path / "other"))
    assert (imported.copied, imported.were_here, imported.left_out) == (1, 0, 1)
    assert "../../elsewhere" in imported.problems[0]


def test_a_stray_word_of_quotes_and_backslashes_is_a_path(home, tmp_path, result_of):
    lay(tmp_path / "it's\\", make_record())
    assert result_of("import", str(tmp_path / "it's\\")).copied == 1
