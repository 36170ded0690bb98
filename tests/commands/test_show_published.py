"""lra show runs with files of published records."""

import json

import pytest

from lra.cli import main
from tests.commands.test_show_lists import runs as runs  # a finished run of two numbers of landmarks, and others
from tests.tables.records import make_record


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
    assert "  paper-short-5000steps  " in text
    assert "it's mine, (2)" in text
    assert "nystrom" not in text


def test_they_are_not_among_all_groups(published, capsys):
    assert "listops/full" not in show(capsys)


def test_a_broken_line_is_said_and_the_others_are_listed(published, capsys):
    with published.open("a") as file:
        file.write('{"identity": 1}\n')
    text = show(capsys, str(published))
    assert text.startswith("2 runs in")
    assert "line 4 " in " ".join(text.split())


@pytest.mark.slow
def test_a_file_without_a_valid_record_is_refused(published, tmp_path, refused):
    for text in ('{"speed": 3}\n', "{\n"):
        (tmp_path / "broken.jsonl").write_text(text)
        error = refused("show", "runs", str(tmp_path / "broken.jsonl"))
        assert (error.kind, error.key) == ("no_records", str(tmp_path / "broken.jsonl"))
