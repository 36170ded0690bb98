"""Runs the cells that are missing, each in a process of its own, and shares them with other runners on the folder."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lra.durations import as_duration
from lra.processes import Child
from lra.results.record import move_aside
from lra.results.text import visible
from lra.run_files import RESULT
from lra.sweeps.failure import Failure, forget_failure, read_failure, write_failure
from lra.sweeps.grid import Cell
from lra.sweeps.lease import RUNNER, LeasedError, is_leased, lease
from lra.types import BUSY

POLL_SECONDS = 2.0
TRAIN = (sys.executable, "-m", "lra", "train")


@dataclass(frozen=True, kw_only=True)
class SweepState:
    """How a sweep stands.

    Attributes:
        finished: cells that have a record.
        failed: folders of cells whose last try failed, with the error.
    """

    finished: int
    failed: dict[Path, str]


def sweep_state(cells: Sequence[Cell]) -> SweepState:
    """Look at every cell's folder."""
    failures = {cell.folder: read_failure(cell.folder) for cell in cells if not cell.finished}
    return SweepState(
        finished=sum(cell.finished for cell in cells),
        failed={folder: failure.error for folder, failure in failures.items() if failure is not None},
    )


def run_missing(cells: Sequence[Cell], console: Console, *, poll_seconds: float = POLL_SECONDS) -> None:
    """Train every cell that has no record yet, one after the other; returns when none is left.

    A cell that another process is at work on is left to it; should that process die, the cell is taken up here, from
    its last checkpoint. A cell that fails is noted and tried once per call, by whichever runner comes to it.

    Raises:
        Stopped: when a signal has come, after the child has ended in order.
    """
    before = {cell.folder: read_failure(cell.folder) for cell in cells}  # these are tried again
    seconds: dict[Path, float] = {}  # of the cells run here; another seed of one takes as long
    waited = False
    while True:
        todo = [cell for cell in cells if not cell.finished and not _failed_since(cell, before)]
        free = [cell for cell in todo if not is_leased(cell.folder)]
        if not todo:
            break
        if not free:
            if not waited:
                console.print(f"waiting for {len(todo)} cells that other processes are at work on …")
            waited = True
            time.sleep(poll_seconds)
            continue
        waited = False
        cell = free[0]
        number = f"\n{len(cells) - len(todo) + 1} of {len(cells)}"
        console.print(Text.assemble((number, "bold"), f"  {cell.name}{_left(todo, seconds)}"))
        begun = time.monotonic()
        code, error = _take(cell, console)
        if code == 0 and cell.finished:
            seconds[cell.folder.parent] = time.monotonic() - begun
            forget_failure(cell.folder)
        elif code != BUSY:
            write_failure(cell.folder, error)
            console.print(Text.assemble(("failed", "red"), f": {cell.name}; the others go on"))


def _left(todo: Sequence[Cell], seconds: dict[Path, float]) -> str:
    if not seconds:
        return ""
    usual = statistics.fmean(seconds.values())
    return f"  about {as_duration(sum(seconds.get(cell.folder.parent, usual) for cell in todo))} left"


def _failed_since(cell: Cell, before: dict[Path, Failure | None]) -> bool:
    failure = read_failure(cell.folder)
    return failure is not None and failure != before[cell.folder]


def _make_room(cell: Cell, console: Console) -> None:
    """Move a record that cannot be read aside, and say so: the run is done again."""
    with lease(cell.folder, patience_seconds=0):
        if os.path.lexists(cell.folder / RESULT) and not cell.finished:
            aside = move_aside(cell.folder / RESULT)
            console.print(visible(f"its record cannot be read, so it is run again; kept as {aside}"))


def _take(cell: Cell, console: Console) -> tuple[int, str]:
    try:
        with lease(cell.folder, RUNNER, patience_seconds=0):
            if cell.finished:
                return 0, ""
            _make_room(cell, console)
            return _train(cell)
    except LeasedError:
        return BUSY, ""


def _train(cell: Cell) -> tuple[int, str]:
    """Run one cell in a child; returns its exit code and, if that is not 0, the error's line."""
    with Child([*TRAIN, *cell.words]) as child:
        code = child.wait()
        assert code is not None  # without a limit it waits for the end
        return code, child.error()
