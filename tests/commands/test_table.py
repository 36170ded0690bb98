"""`lra table` as a user drives it."""

import json
import re
import signal

import pytest

from lra.cli import main
from tests.conftest import lra, lra_here
from tests.disturbance import disturbed, steps
from tests.tables.records import make_record

GRID = ("size=tiny", "task=listops", "attention=nystrom", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")


def run(capsys, *words):
    capsys.readouterr()
    code = main(["table", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def published(home):
    folder = home / "published"
    folder.mkdir(parents=True)
    lines = [json.dumps(make_record(seed=seed, accuracy=0.37 + seed / 100)) for seed in range(3)]
    (folder / "listops.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_run_trains_what_is_missing_and_shows_the_table(data_dir, tmp_path):
    words = ("table", "run", *GRID, "seed=0", "attention.num_landmarks=8")
    done = lra_here(*words, data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert re.search(r"\nnystrom +\d+\.\d\d \(1\)‡ ", done.stdout)
    assert "NOT the benchmark" in done.stdout
    (result,) = (tmp_path / "runs/table").rglob("result.json")
    written = result.stat().st_mtime_ns
    again = lra_here(*words, data=data_dir, runs=tmp_path / "runs")
    assert again.returncode == 0, again.stderr
    assert result.stat().st_mtime_ns == written, "a finished cell is not run again"


@pytest.mark.slow
def test_run_notes_what_fails(data_dir, tmp_path):
    words = ("table", "run", *GRID, "seed=0", "attention.num_landmarks=8", "attention.value_skip_taps=35,34")
    done = lra_here(*words, data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2, done.stderr
    assert "1 of 2 cells finished" in done.stdout
    assert "attention.value_skip_taps=34" in done.stdout
    assert re.search(r"\nnystrom +\d+\.\d\d \(1\)‡ ", done.stdout)


@pytest.mark.slow
def test_plan_names_state_time_and_memory_before_anything_runs(data_dir, tmp_path):
    done = lra_here("table", "plan", *GRID, "seed=0,1", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert re.search(r"listops/nystrom +0,1 +0 of 2 +\d+\.\d{3} +[\d.]+ [MG]iB ", done.stdout), done.stdout
    assert "2 cells to run" in done.stdout
    assert not list((tmp_path / "runs").rglob("*.ckpt"))


@pytest.mark.slow
def test_show_reads_published_records_in_every_form(published, capsys, tmp_path):
    code, out, _ = run(capsys, "show", "run_group=published")
    assert code == 0
    assert "38.00 ± 1.00 (3)‡" in out
    assert "+0.85 within" in out
    assert "best checkpoint by dev accuracy" in run(capsys, "show", "run_group=published", "notes=all")[1]
    for form, said in (("markdown", "38.00 ± 1.00 (3)‡ |"), ("latex", r"\toprule"), ("csv", "nystrom,listops,paper,3")):
        assert said in run(capsys, "show", "run_group=published", f"format={form}")[1]
    code, out, _ = run(capsys, "show", "run_group=published", f"out={tmp_path}/table.tex")
    assert r"\bottomrule" in (tmp_path / "table.tex").read_text()


def test_show_leaves_out_and_names_a_broken_record(published, capsys):
    with (published / "listops.jsonl").open("a") as file:
        file.write('{"identity": 1, "schema_version": 1}\n')
    _, out, _ = run(capsys, "show", "run_group=published")
    assert "38.00 ± 1.00 (3)" in out
    assert "left out" in out
    assert "listops.jsonl, line 4" in out


def test_notes_are_three_and_all_of_them_where_they_are_asked_for(published, capsys):
    csv = run(capsys, "show", "run_group=published", "format=csv")[1]
    with (published / "listops.jsonl").open("a") as file:
        file.write('{"identity": 1, "schema_version": 1}\n' * 9)
    short, whole, markdown = (
        run(capsys, "show", "run_group=published", *words)[1] for words in ([], ["notes=all"], ["format=markdown"])
    )
    lines = short.rsplit("\n\n", 1)[1].splitlines()
    assert len(lines) == 4
    assert "line 4" in lines[1], "what is missing is said first"
    left_out = int(re.fullmatch(r"(\d+) more notes: notes=all", lines[-1])[1])
    assert len(whole.rsplit("\n\n", 1)[1].splitlines()) == 3 + left_out
    assert all(f"line {number}" in text for number in range(4, 13) for text in (whole, markdown))
    assert run(capsys, "show", "run_group=published", "format=csv", "notes=short")[1] == csv


def test_show_is_of_what_was_asked_for(published, capsys):
    assert "38.50 ± 0.71 (2)" in run(capsys, "show", "run_group=published", "seed=1,2")[1]
    assert "3 records of size=full" in run(capsys, "show", "run_group=published", "task=text")[1]


def test_a_file_of_published_records_that_is_not_there_is_refused(home, refused):
    error = refused("table", "show", "run_group=published/shorttable.jsonl")
    assert (error.kind, error.right[0]) == ("no_records", "lra table show run_group=published/short_table.jsonl")
    assert refused("table", "show", "run_group=later").kind == "no_records"


def test_show_says_what_is_of_another_size_or_protocol(published, capsys):
    _, out, _ = run(capsys, "show", "run_group=published", "size=tiny")
    assert "3 records of size=full protocol=paper" in out
    with (published / "tiny.jsonl").open("w") as file:
        file.write(json.dumps(make_record(size="tiny")) + "\n")
    assert "left out: 3 of size=full protocol=paper" in run(capsys, "show", "run_group=published", "size=tiny")[1]


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_two_workers_of_a_hydra_launcher_share_the_cells(launcher, data_dir, tmp_path):
    words = ("table", "run", *GRID, "seed=0,1,2", "workers=2", f"hydra/launcher={launcher}")
    done = lra(*words, data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 cells finished" in done.stdout
    assert len(list((tmp_path / "runs/table").rglob("result.json"))) == 3
    assert re.search(r"\nnystrom +\d+\.\d\d ± \d+\.\d\d \(3\)‡ ", done.stdout)


@pytest.mark.slow
def test_a_plain_sweep_goes_on_after_a_run_that_fails(data_dir, tmp_path):
    done = lra("train", "-m", *GRID, "attention.value_skip_taps=4,3", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.count("lra: attention.value_skip_taps=4 ") == 2, "at once and at the end"
    assert len(list((tmp_path / "runs").rglob("result.json"))) == 1


@pytest.mark.slow
def test_a_plain_sweep_with_a_value_out_of_range_starts_none_of_its_runs(data_dir, tmp_path):
    done = lra("train", "-m", *GRID, "attention.num_landmarks=8,0", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.count("lra: attention.num_landmarks=0 ") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_table_killed_three_times_is_complete_and_right_at_the_end(data_dir, tmp_path):
    """The accuracies are those of runs that nothing has disturbed."""
    words = ("table", "run", *GRID[:1], "task=listops", "attention=nystrom,full", "seed=0,1", "recipe.steps=30")
    words += (
        "recipe.eval_every=10",
        "callbacks.checkpoint_every_seconds=0.2",
        "logger=csv",
        "callbacks.log_every_steps=1",
    )
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for _ in range(3):
        before = sum(steps(killed))
        with disturbed(*words, data=data_dir, runs=killed) as command:
            command.until(lambda before=before: sum(steps(killed)) > before + 10)
            command.end(signal.SIGKILL)
    assert len(list(killed.rglob("result.json"))) < 4, "the kills came too late"
    for runs in (killed, whole):
        done = lra(*words, data=data_dir, runs=runs)
        assert done.returncode == 0, done.stderr
    found = [
        {path.parent.relative_to(runs): json.loads(path.read_text())["outcome"] for path in runs.rglob("result.json")}
        for runs in (killed, whole)
    ]
    assert len(found[0]) == 4
    assert found[0] == found[1]
