"""Runs the cells that are missing, each in a process of its own, and shares them with other runners on the folder."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lra.sweeps.failure import forget_failure, read_failure, write_failure
from lra.sweeps.grid import Cell
from lra.sweeps.lease import RUNNER, LeasedError, is_leased, lease
from lra.training.progress import clock
from lra.training.ranks import die_with_parent
from lra.types import BUSY

POLL_SECONDS = 2.0
STOP_SECONDS = 60.0  # that a child gets to save itself after Ctrl-C
TRAIN = (sys.executable, "-m", "lra", "train")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a sweep stands.

    Attributes:
        finished: cells that have a record.
        failed: folders of cells whose last try failed, with the error.
    """

    finished: int
    failed: dict[Path, str]


def outcome_of(cells: Sequence[Cell]) -> Outcome:
    """Look at every cell's folder."""
    failures = {cell.folder: read_failure(cell.folder) for cell in cells if not cell.finished}
    return Outcome(
        finished=sum(cell.finished for cell in cells),
        failed={folder: failure[0] for folder, failure in failures.items() if failure is not None},
    )


def run_missing(cells: Sequence[Cell], console: Console, *, poll_seconds: float = POLL_SECONDS) -> None:
    """Train every cell that has no record yet, one after the other; returns when none is left.

    A cell that another process is at work on is left to it; should that process die, the cell is taken up here, from
    its last checkpoint. A cell that fails is noted and tried once per call, by whichever runner comes to it.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after the child has saved itself.
    """
    started = time.time()
    seconds: dict[Path, float] = {}  # of the cells run here; another seed of one takes as long
    waited = False
    while True:
        todo = [cell for cell in cells if not cell.finished and not _failed_since(cell, started)]
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
        code, error = _take(cell)
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
    return f"  about {clock(sum(seconds.get(cell.folder.parent, usual) for cell in todo))} left"


def _failed_since(cell: Cell, started: float) -> bool:
    failure = read_failure(cell.folder)
    return failure is not None and failure[1] >= started


def _take(cell: Cell) -> tuple[int, str]:
    try:
        with lease(cell.folder, RUNNER, patience_seconds=0):
            return (0, "") if cell.finished else _train(cell)
    except LeasedError:
        return BUSY, ""


def _train(cell: Cell) -> tuple[int, str]:
    """Run one cell in a child; returns its exit code and, if that is not 0, the error's line."""
    child = subprocess.Popen(
        [*TRAIN, *cell.words],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )
    lines: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(child, lines), daemon=True)
    reader.start()
    try:
        code = child.wait()
    except KeyboardInterrupt:
        _stop(child)
        reader.join(1)
        raise
    reader.join(1)
    return code, _error(code, lines)


def _pass_on(child: subprocess.Popen[str], lines: list[str]) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        sys.stderr.write(line)
        sys.stderr.flush()
        lines.append(line.strip())


def _stop(child: subprocess.Popen[str]) -> None:
    """Let the child save itself: a terminal has sent Ctrl-C to it too, a lone signal has not."""
    try:
        child.wait(1)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _error(code: int, lines: list[str]) -> str:
    if code < 0:
        name = signal.Signals(-code).name
        return f"killed by {name}" + (": out of memory?" if name == "SIGKILL" else "")
    said = [line.removeprefix("lra: ") for line in lines if line.startswith("lra: ")]
    return (said or [line for line in lines if line] or [f"exit code {code}"])[-1]
