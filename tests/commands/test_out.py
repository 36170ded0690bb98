"""Where a table is written: `out=` is a file, or one line says so and nothing is left behind."""

import json
import os

import pytest

from lra.base.files import replace_text
from lra.cli import main
from tests.tables.records import make_record


@pytest.mark.parametrize("words", [("table", "show"), ("compare", "show"), ("sweep", "landmarks", "show")])
def test_a_folder_is_no_file(home, tmp_path, refused, words):
    (tmp_path / "folder").mkdir()
    error = refused(*words, "out=folder")
    assert (error.kind, error.key, error.value) == ("no_file", "out", "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_tables_of_several_tasks_go_into_one_file(home, tmp_path, capsys):
    made = [
        make_record(task, attention, seed=seed) for task in ("listops", "text") for attention in ("full", "nystrom")
        for seed in range(2)
    ]  # fmt: skip
    (home / "compare").mkdir(parents=True)
    (home / "compare" / "made.jsonl").write_text("\n".join(map(json.dumps, made)) + "\n")
    assert main(["compare", "show", "task=listops,text", f"out={tmp_path}/both.md"]) == 0
    text = (tmp_path / "both.md").read_text()
    assert [task for task in ("listops", "text", "image") if f"**{task}," in text] == ["listops", "text"]
    assert text.count("| nystrom") == 2


def test_a_file_that_cannot_be_replaced_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_text(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_name_of_the_file_is_no_markup(home, tmp_path, capsys):
    out = tmp_path / "[red]x.md"
    assert main(["table", "show", f"out='{out}'"]) == 0
    assert str(out) in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("report", "run_group=nothing", "out=file/x.html"),
        ("table", "show", "out=file/x.md"),
        ("compare", "show", "out=file/x.csv"),
        ("tune", "show", "out=file/x.tex"),
        ("sweep", "window", "show", "out=file/x.md"),
        ("bench", "attention", "n=16", "out=file/x.md"),
        ("export", "run=a1b9200f", "to=file/x"),
        ("publish", "run_group=nothing", "name=x", "to=file/x"),
    ],
    ids=lambda words: words[0],
)
def test_a_place_that_cannot_be_made_is_refused_before_the_work(home, tmp_path, refused, words):
    """The work, such as finding the records or the run, would be refused too, as there are none."""
    (tmp_path / "file").touch()
    error = refused(*words)
    assert (error.kind, error.key) == ("not_writable", words[-1].split("=")[0])
    assert error.right != words[-1]
    assert error.right in str(error)
    assert "/" not in error.right, "in the current folder"


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(home, tmp_path, refused, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: not str(place).startswith(str(tmp_path / "other")))
    (tmp_path / "other").mkdir()
    for words in (("report", "out=other/new/x.html"), ("table", "show", "out=other/x.md")):
        assert refused(*words).kind == "not_writable"


@pytest.mark.parametrize("verb", [("table", "show"), ("report",), ("bench", "attention", "n=16")])
def test_a_pipe_is_no_file_and_stays(home, tmp_path, refused, verb):
    os.mkfifo(tmp_path / "pipe")
    assert refused(*verb, f"out={tmp_path}/pipe").kind == "special_file"
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_stays_and_its_file_is_written(home, tmp_path):
    (tmp_path / "table.md").write_text("old")
    (tmp_path / "link.md").symlink_to(tmp_path / "table.md")
    assert main(["table", "show", f"out={tmp_path}/link.md"]) == 0
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "table.md").read_text() != "old"


def test_the_report_of_a_file_of_records_lies_beside_it(home, result_of):
    (home / "mine").mkdir(parents=True)
    (home / "mine" / "made.jsonl").write_text(json.dumps(make_record("listops", "full", seed=0)) + "\n")
    made = result_of("report", "run_group=mine/made.jsonl", "samples=0")
    assert made.path == home / "mine" / "made-report.html"
    assert made.path.is_file()
