"""A line for each cell that has ended, and on a terminal a live table of those at work, whoever runs them."""

import io
import re
import time

import pytest
from rich.console import Console

from lra.base.overrides import Overrides
from lra.run import RUNNER, Run
from lra.runs.files import OUTPUT
from lra.tables.grid import cell_monitor, runner
from lra.tables.grid.cell_monitor import CellMonitor, first_line
from tests.tables.grid.stand_in import RECORD, NamedCell, make_cells
from tests.tables.grid.test_runner import _stand_in  # noqa: F401  (the training's stand-in)

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")
PROGRESS = "$ lra train\nstep 300/1000  loss 2.300  8.10 steps/s  0:01:26 left\n"


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(cell_monitor, "LOOK_SECONDS", 0.02)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def pipe() -> Console:
    return Console(file=io.StringIO(), width=120, soft_wrap=True)


def terminal(columns: int = 80) -> Console:
    environment = {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "30"}
    return Console(file=io.StringIO(), force_terminal=True, width=columns, soft_wrap=True, _environ=environment)


def finish(cell) -> None:
    cell.run.folder.mkdir(parents=True, exist_ok=True)
    (cell.run.folder / "result.json").write_text(RECORD.read_text())


def run(cells, console: Console) -> str:
    with CellMonitor(cells, console):
        runner.run_missing(cells, console)
    return console.file.getvalue()


def test_a_pipe_has_one_line_for_each_cell_that_was_run(tmp_path):
    cells = make_cells(tmp_path, ["before", "a", "bad", "b"])
    finish(cells[0])
    lines = run(cells, pipe()).splitlines()
    assert [line.split()[0] for line in lines] == ["2/4", "3/4", "4/4"]
    assert re.fullmatch(r"2/4  a cell  \d+\.\d %  \d+ s", lines[0])
    assert lines[1] == "3/4  a cell  failed: nothing will come of this"
    assert "\x1b" not in "".join(lines)


def test_a_run_that_has_failed_before_is_said_again_only_if_it_fails_again(tmp_path):
    cells = make_cells(tmp_path, ["a", "bad"])
    for cell in cells:
        cell.run.fail("an older fault")
    lines = run(cells, pipe()).splitlines()
    assert [line.split()[0] for line in lines] == ["1/2", "2/2"]
    assert "failed" not in lines[0]
    assert lines[1].endswith("failed: nothing will come of this")


def test_a_cell_that_another_process_has_run_has_its_line_too(tmp_path):
    cells, console = make_cells(tmp_path, "ab"), pipe()
    with CellMonitor(cells, console):
        with cells[0].run.lock():
            finish(cells[0])
            time.sleep(0.2)
            assert console.file.getvalue() == "", "it is still at work on it"
        finish(cells[1])
    assert [line[:3] for line in console.file.getvalue().splitlines()] == ["1/2", "2/2"]


def test_a_trial_has_its_accuracy_on_dev_examples(tmp_path):
    (cell,) = (NamedCell(overrides=Overrides([str(tmp_path / "a"), "0"]), trial=0),)
    finish(cell)
    assert cell_monitor._result(cell).startswith("dev ")


@pytest.mark.parametrize("columns", [30, 80])
def test_a_terminal_shows_the_cells_at_work_and_leaves_the_lines_alone(tmp_path, columns):
    cells, console = make_cells(tmp_path, ["ended", "running", *"bcd"]), terminal(columns)
    with CellMonitor(cells, console):
        finish(cells[0])
        with cells[1].run.lock(RUNNER):
            (cells[1].run.folder / OUTPUT).write_text(PROGRESS)
            time.sleep(0.3)
    text = console.file.getvalue()
    frames = [CONTROL.sub("", frame) for frame in text.split("at work")]
    row = next(line for line in frames[-1].splitlines() if "300/1,000" in line)
    assert len(row) <= columns
    assert re.search(r"300/1,000 +8\.1 steps/s +86 s" if columns == 80 else r"a cell +300/1,000 +86 s", row)
    assert "3 wait" in frames[-1]
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is back"
    assert sum("1/5" in line for line in CONTROL.sub("", text).splitlines()) == 1


def test_without_colours_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), force_terminal=True, width=80, soft_wrap=True)
    run(make_cells(tmp_path, ["bad"]), console)
    assert not re.search(r"\x1b\[(3|4|9)\d", console.file.getvalue())


def test_a_terminal_that_cannot_move_its_cursor_has_lines(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=80, soft_wrap=True, _environ={"TERM": "dumb"})
    assert "\x1b[?25l" not in run(make_cells(tmp_path, "a"), console)


def test_the_cursor_is_back_after_an_interruption(tmp_path):
    cells, console = make_cells(tmp_path, "ab"), terminal()

    def interrupted():
        with CellMonitor(cells, console):
            finish(cells[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = console.file.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert "1/2" in text, "what has ended is said"


def test_what_goes_wrong_with_looking_is_an_error_of_the_command(tmp_path, monkeypatch):
    cells = make_cells(tmp_path, "a")

    def refuses(run):
        raise OSError("no folder")

    def looked_at():
        with CellMonitor(cells, pipe()):
            monkeypatch.setattr(Run, "locked", property(refuses))
            time.sleep(0.2)

    with pytest.raises(OSError, match="no folder"):
        looked_at()


def test_the_first_line_says_where_the_details_are(tmp_path):
    cells = make_cells(tmp_path, "ab")
    finish(cells[0])
    line = first_line(cells, tmp_path)
    assert line.startswith("2 cells, 1 ")
    assert OUTPUT in line
    assert str(tmp_path) in line
