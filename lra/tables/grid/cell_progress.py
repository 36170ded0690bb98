"""How far a run of a table is, read from its folder; and how long what is left of a table will take."""

import re
import statistics
from collections import defaultdict
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import NamedTuple

from lra.run import Run
from lra.runs.files import OUTPUT
from lra.tables.grid.run_output import COMMAND

TAIL_BYTES = 8192  # of what a run has printed, which has the last line of its progress
PROGRESS = re.compile(  # what `lra.training.progress` prints where there is no terminal
    r"step (?P<step>\d+)/(?P<steps>\d+) .*?(?P<rate>\d+\.\d+) steps/s"
    r"  (?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d) left"
)
PREPARING = "preparing "  # begins what a run prints while it makes its data


class Progress(NamedTuple):
    """The state of a run at work; `steps_per_second` and `seconds_left` are None where they are not known.

    `words` say what it does before its first step.
    """

    step: int
    steps: int | None
    steps_per_second: float | None
    seconds_left: float | None
    words: str = ""

    @property
    def step_text(self) -> str:
        """`300/1,000`, or what the run does before its first step."""
        if not self.step:
            return self.words
        return f"{self.step:,}" if self.steps is None else f"{self.step:,}/{self.steps:,}"

    @property
    def rate_text(self) -> str:
        """`8.1 steps/s`; of slow steps the time of one, `12 s/step`; empty where it is not known."""
        rate = self.steps_per_second
        if not rate:
            return ""
        return f"{rate:.1f} steps/s" if rate >= 1 else f"{1 / rate:.2g} s/step"


def read_progress(run: Run) -> Progress:
    """Read the last line of progress in what a run has printed, or else the last step of its curves."""
    lines = _last_lines(run.folder / OUTPUT)
    for line in reversed(lines):
        match = PROGRESS.match(line)
        if match is not None:
            left = 3600 * int(match["hours"]) + 60 * int(match["minutes"]) + int(match["seconds"])
            return Progress(int(match["step"]), int(match["steps"]), float(match["rate"]), left)
    is_preparing = bool(lines) and lines[-1].startswith(PREPARING)
    return Progress(run.last_step, None, None, None, "preparing data" if is_preparing else "starting")


def _last_lines(path: Path) -> list[str]:
    """Read the last lines of the last attempt."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:  # not there, as where another version of lra runs the cell
        return []
    starts = [index for index, line in enumerate(lines) if line.startswith(COMMAND)]
    return lines[starts[-1] + 1 :] if starts else lines


class CellTimes:
    """Times of cells, from which the rest of a table is estimated: cells of one kind take as long.

    Only cells count that were seen from their first step on: the rest of a resumed one says nothing of a whole one.
    """

    def __init__(self) -> None:
        self._begun: dict[Hashable, float] = {}  # when each whole cell at work began
        self._seconds: dict[Hashable, list[float]] = defaultdict(list)  # of whole cells, by kind

    def begin(self, cell: Hashable, now: float) -> None:
        """Note that a cell begins at its first step."""
        self._begun[cell] = now

    def end(self, cell: Hashable, kind: Hashable, now: float) -> None:
        """Note that a cell has ended."""
        begun = self._begun.pop(cell, None)
        if begun is not None:
            self._seconds[kind].append(now - begun)

    def left(
        self, running: Iterable[tuple[Hashable, Hashable, float | None]], waiting: Iterable[Hashable], now: float
    ) -> float | None:
        """Estimate the seconds until all cells have ended, as many at a time as run now.

        Args:
            running: each cell at work, its kind, and the seconds that are left of it, None if unknown.
            waiting: the kinds of the cells that wait.
            now: the time.

        Returns:
            None where no cell has said how long it takes.
        """
        running = list(running)
        by_kind = {kind: list(seconds) for kind, seconds in self._seconds.items()}
        for cell, kind, seconds in running:
            if seconds is not None and cell in self._begun:
                by_kind.setdefault(kind, []).append(now - self._begun[cell] + seconds)
        if not by_kind:
            return None
        means = {kind: statistics.fmean(seconds) for kind, seconds in by_kind.items()}
        usual = statistics.fmean(means.values())
        of_running = [
            means.get(kind, usual) - (now - self._begun.get(cell, now)) if seconds is None else seconds
            for cell, kind, seconds in running
        ]
        of_running = [max(seconds, 0.0) for seconds in of_running]
        of_all = sum(of_running) + sum(means.get(kind, usual) for kind in waiting)
        return max(of_all / max(len(running), 1), *of_running, 0.0)
