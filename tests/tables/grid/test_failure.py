"""The mark of a failure: no clock decides whether it counts, and a damaged one stops nothing."""

import json

import pytest
from rich.console import Console

from lra.run import Run
from lra.runs.files import FAILED
from lra.tables.grid import runner
from tests.tables.grid.stand_in import make_cells
from tests.tables.grid.test_runner import _stand_in, log  # noqa: F401  (the training's stand-in)


def test_a_mark_of_a_clock_that_is_ahead_does_not_block_its_cell(tmp_path):
    (cell,) = make_cells(tmp_path, "a")
    cell.run.folder.mkdir()
    (cell.run.folder / FAILED).write_text(json.dumps({"error": "of another machine", "at": 9e12}))
    runner.run_missing([cell], Console())
    assert log(tmp_path) == ["begun a", "done a"]


def test_a_failure_since_this_call_began_is_not_tried_again_whatever_its_clock_says(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 0.0)
    cells = make_cells(tmp_path, ["bad"])
    runner.run_missing(cells, Console())
    assert log(tmp_path) == ["begun bad"]
    assert cells[0].run.failure.error == "nothing will come of this"


def test_a_failure_between_a_look_and_the_lock_is_not_tried_again(tmp_path, monkeypatch):
    (cell,) = make_cells(tmp_path, "a")

    locked = Run.locked

    def other_fails(run):
        monkeypatch.setattr(Run, "locked", locked)
        run.fail("of the other")
        return  # it has just released its lock

    monkeypatch.setattr(Run, "locked", property(other_fails))
    runner.run_missing([cell], Console())
    assert log(tmp_path) == []
    assert cell.run.failure.error == "of the other"


def test_two_failures_are_told_apart(tmp_path):
    marks = []
    for _ in range(2):
        Run(tmp_path).fail("the same words")
        marks.append(Run(tmp_path).failure)
    assert marks[0].error == marks[1].error
    assert marks[0].id != marks[1].id


@pytest.mark.some_fast(2)
@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b'{"error": 1}', b'{"at": 1}', None])
def test_a_damaged_mark_is_a_failure_that_says_so(tmp_path, content):
    (cell,) = make_cells(tmp_path, "a")
    cell.run.folder.mkdir()
    if content is None:
        (cell.run.folder / FAILED).mkdir()
    else:
        (cell.run.folder / FAILED).write_bytes(content)
    assert "cannot be read" in cell.run.failure.error
    assert "cannot be read" in runner.failed_cells([cell])[cell.run]
    runner.run_missing([cell], Console())
    assert log(tmp_path) == ["begun a", "done a"]
    assert cell.run.failure is None
