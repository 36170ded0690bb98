"""lra show runs with files of published records."""

import json

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("word", ["PATH", "run_group=published"])
def test_published_records_are_listed_as_finished_runs(published, result_of, word):
    shown = result_of("show", "runs", word.replace("PATH", str(published)))
    both = [("listops", "full", seed) for seed in (0, 1)]
    assert [(line.task, line.label, line.seed) for line in shown.lines] == both
    for line, row in zip(shown.lines, shown.table.rows, strict=True):
        assert (line.run, line.record.test_accuracy, line.state) == (None, 0.25, line.record.finished_text)
        assert line.group == "it's mine, (2)"
        assert {"listops/full", "paper-short-5000steps", line.group, line.state} <= {*row}


def test_they_are_not_among_all_groups(published, result_of):
    assert {line.label.split()[0] for line in result_of("show", "runs").lines if line.task == "listops"} == {"nystrom"}


def test_a_broken_line_is_said_and_the_others_are_listed(published, result_of):
    with published.open("a") as file:
        file.write('{"identity": 1}\n')
    shown = result_of("show", "runs", str(published))
    assert len(shown.lines) == 2
    (note,) = shown.table.notes
    assert f"{published.name}, line 4 " in note


@pytest.mark.slow
def test_a_file_without_a_valid_record_is_refused(published, tmp_path, refused):
    for text in ('{"speed": 3}\n', "{\n"):
        (tmp_path / "broken.jsonl").write_text(text)
        error = refused("show", "runs", str(tmp_path / "broken.jsonl"))
        assert (error.kind, error.key) == ("no_records", str(tmp_path / "broken.jsonl"))
