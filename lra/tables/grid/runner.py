"""Run the missing cells of a sweep, each in a child process; other processes may run cells of the same folder.

On a CPU, under Linux, the child is forked from a process that has imported what is slow to import.

`lra.tables.grid.cell_monitor` prints what has become of them.
"""

import os
import time
from collections.abc import Sequence

from rich.console import Console

from lra.base.fork_server import CAN_FORK, ForkServer
from lra.base.printed_commands import command
from lra.base.processes import WARNING, Child, python_module
from lra.base.text import visible
from lra.run import RUNNER, Failure, Run, RunLockedError
from lra.runs.files import RESULT
from lra.runs.record import move_aside
from lra.runs.versions import git_commit, versions
from lra.tables.grid.cell import Cell
from lra.tables.grid.run_output import RunOutput
from lra.types import LOCKED

POLL_SECONDS = 2.0
PROGRAM = "lra.cli:main"  # what the process of a cell calls
# What takes long to import, the last two for wandb. Not wandb itself: at its import it makes temporary folders, and the
# first child to end would delete those of all.
IMPORTS = (
    "lra.verbs.train", "lra.verbs.train_attempt", "lra.training.trainer", "lra.training.schedule_check",
    "lra.packed.encoder_forms", "requests", "pandas",
)  # fmt: skip
NO_TERMINAL = {"TTY_COMPATIBLE": "0"}  # for a run whose output is kept in a file, also where FORCE_COLOR is set


def failed_cells(cells: Sequence[Cell]) -> dict[Run, str]:
    """Read the error line of each failed cell, by its run."""
    failures = {cell.run: cell.run.failure for cell in cells if not cell.run.finished}
    return {run: failure.error for run, failure in failures.items() if failure is not None}


def run_missing(cells: Sequence[Cell], console: Console, *, is_alone: bool = True) -> None:
    """Train every cell that has no record yet, one after the other; return when none is left.

    Cells that another process works on are left to that process. If it dies, this process resumes the cell from its
    last checkpoint. A cell that fails is marked, and is not tried again by the processes that run now. One that stops
    early, as `trainer.max_steps` says, is not gone on with here. `is_alone`: whether no other worker of the same call
    runs these cells, for which nobody would have to be told to wait.

    Raises:
        Stopped: after a signal, when the child process has ended.
    """
    # Failures of earlier calls, which are retried, but for those of a search: a trial that failed counts as tried.
    before = {cell.run: None if cell.trial is not None else cell.run.failure for cell in cells}
    early: set[Run] = set()
    waited = False
    with ForkServer(PROGRAM, IMPORTS, version=lambda: (git_commit(), versions())) as server:
        while True:
            todo = [
                cell
                for cell in cells
                if not cell.run.finished and cell.run not in early and not _failed_since(cell, before)
            ]
            free = [cell for cell in todo if not cell.run.locked]
            if not todo:
                break
            if not free:
                if not waited:
                    _say_what_is_waited_for(todo, console, is_alone=is_alone)
                waited = True
                time.sleep(POLL_SECONDS)
                continue
            waited = False
            cell = free[0]
            code = _take(cell, console, before, server)
            if code == 0 and cell.run.finished:
                cell.run.forget_failure()
            elif code == 0:
                early.add(cell.run)
                console.print(f"stopped early, not finished: {cell.name}")


def _say_what_is_waited_for(todo: Sequence[Cell], console: Console, *, is_alone: bool) -> None:
    if is_alone:
        console.print(f"waiting for {len(todo)} cells that other processes are at work on …")
    for cell in todo:
        error = cell.run.locked
        if error is not None and error.leftover:
            console.print(visible(f"{cell.name}: {error.leftover}"))


def _failed_since(cell: Cell, before: dict[Run, Failure | None]) -> bool:
    failure = cell.run.failure
    return failure is not None and failure != before[cell.run]


def _make_room(cell: Cell, console: Console) -> None:
    """Rename an unreadable record, and print that the run is repeated."""
    with cell.run.lock(patience_seconds=0):
        if os.path.lexists(cell.run.folder / RESULT) and not cell.run.finished:
            aside = move_aside(cell.run.folder / RESULT)
            console.print(visible(f"{cell.name}: its record cannot be read, so it is run again; kept as {aside}"))


def _take(cell: Cell, console: Console, before: dict[Run, Failure | None], server: ForkServer) -> int:
    """Run a cell, unless another process has it or has just had it; note a failure. Return the exit code."""
    try:
        with cell.run.lock(RUNNER, patience_seconds=0):
            if cell.run.finished:
                return 0
            if _failed_since(cell, before):
                return LOCKED
            _make_room(cell, console)
            code, error = _train(cell, server)
            if code != LOCKED and (cell.run.folder / RESULT).exists():
                if code:
                    console.print(f"{cell.name}: {WARNING}its process ended after its result was written: {error}")
                return 0
            if code not in (0, LOCKED):  # noted before the lock is released, or another process would try again
                cell.run.fail(error)
            return code
    except RunLockedError:
        return LOCKED


def _train(cell: Cell, server: ForkServer) -> tuple[int, str]:
    """Run one cell in a child process; return its exit code and, if that is not 0, its error line."""
    words, forks = ("train", *cell.overrides), CAN_FORK and not cell.is_on_gpu
    with (
        RunOutput(cell.run.folder, name=cell.name, command=command(*words)) as output,
        Child(
            words if forks else python_module("lra", *words),
            start=server.start if forks else None,
            env=NO_TERMINAL,
            hear_output=output.hear_output,
            hear_error=output.hear_error,
        ) as child,
    ):
        code = child.wait()
        assert code is not None  # `wait` without a time limit returns when the child has ended
        return code, child.error()
