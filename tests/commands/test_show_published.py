"""lra show runs with files of published records."""

from __future__ import annotations

import json

import pytest

from lra.cli import main
from tests.commands.test_show_lists import runs as runs  # a finished run of two numbers of landmarks, and others
from tests.results.records import make_record


@pytest.fixture
def published(runs):
    """A file with two runs below the folder of runs, whose name needs quotes; one line is a speed."""
    folder = runs / "published"
    folder.mkdir()
    records = [make_record(seed=seed, attention="full", accuracy=0.25, size="short") for seed in (0, 1)]
    lines = [json.dumps(record) for record in records]
    path = folder / "it's mine, (2).jsonl"
    path.write_text("\n".join([*lines, '{"speed": 3}']) + "\n")
    return path


def show(capsys, *words: str) -> str:
    assert main(["show", "runs", *words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("word", ["PATH", "run_group=published"])
def test_published_records_are_listed_as_finished_runs(published, capsys, word):
    text = show(capsys, word.replace("PATH", str(published)))
    assert text.startswith("2 runs ")
    assert text.count("listops/full") == text.count("finished, 25.00%") == 2
    assert "│ paper-short-5000steps │" in text
    assert "it's mine, (2)" in text
    assert "nystrom" not in text


def test_they_are_not_among_all_groups(published, capsys):
    assert "listops/full" not in show(capsys)


def test_a_broken_line_is_said_and_the_others_are_listed(published, capsys):
    with published.open("a") as file:
        file.write('{"identity": 1}\n')
    text = show(capsys, str(published))
    assert text.startswith("2 runs in")
    assert "line 4 is not a record of schema version" in " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, said",
    [
        (["nowhere.jsonl"], "nowhere.jsonl is not there"),
        (["FOLDER"], "is not a .jsonl file of published records; for a folder below"),
        (["EMPTY"], "no record is in"),
        (["BROKEN"], "no valid record is in"),
        (["EMPTY", "run_group=table"], "run_group=table has no effect beside the file"),
    ],
)
def test_mistakes_are_one_line(published, tmp_path, capsys, words, said):
    (tmp_path / "empty.jsonl").write_text('{"speed": 3}\n')
    (tmp_path / "broken.jsonl").write_text("{\n")
    places = {"FOLDER": tmp_path, "EMPTY": tmp_path / "empty.jsonl", "BROKEN": tmp_path / "broken.jsonl"}
    assert main(["show", "runs", *(str(places.get(word, word)) for word in words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
