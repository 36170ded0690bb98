"""What is printed while cells run: a line for each that has ended; on a terminal a live table of those at work below.

Everything is read from the folders of the runs, so it does not matter which process, on which machine, runs a cell.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lra.base.text import duration_text, visible
from lra.runs.files import LAST, OUTPUT
from lra.tables.grid.cell import Cell
from lra.tables.grid.cell_progress import CellTimes, Progress, read_progress
from lra.terminal.text_table import GAP
from lra.types import UserError

LOOK_SECONDS = 1.0  # between two looks at the folders
LEAST_WIDTH = 50  # of a terminal that has a column of speeds
LEAST_NAME = 7  # characters of a cell's name that stay


class CellMonitor:
    """Looks at cells from a thread of its own, while its `with` block runs them, and prints what has become of them.

    Args:
        cells: all cells of a table, those that are finished before too.
        console: where to print.
        in_place: whether a live table may be shown, if the console is a terminal: nothing else may write to it.
    """

    def __init__(self, cells: Sequence[Cell], console: Console, *, in_place: bool = True):
        self._console = console
        self._names = {cell.run: cell.name for cell in cells}  # composed here, because Hydra is of one thread
        self._kinds = {cell.run: cell.kind for cell in cells}
        self._left = [cell for cell in cells if not cell.ended]
        self._failed_before = {cell.run: cell.run.failure for cell in self._left}
        self._count, self._name_width = len(cells), max(map(len, self._names.values()), default=0)
        self._running: list[Cell] = []
        self._times, self._begun_before = CellTimes(), True
        self._end = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._live: Live | None = None
        if in_place and console.is_interactive:
            on_terminal = sys.stderr.isatty()  # else it goes elsewhere, and must not be taken from there
            self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stderr=on_terminal)

    def __enter__(self) -> CellMonitor:
        if self._left:
            self._look()
            if self._live is not None:
                self._live.start(refresh=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end.set()
            if self._thread.is_alive():
                self._thread.join()
            if self._error is None:
                self._look()
        finally:
            if self._live is not None:
                self._live.stop()
        if self._error is not None and error is None:
            raise self._error

    def _watch(self) -> None:
        try:
            while not self._end.wait(LOOK_SECONDS):
                self._look()
        except Exception as error:  # raised again by the thread that waits for the cells
            self._error = error

    def _look(self) -> None:
        """Print a line for each cell that has ended since the last look; draw the table of those at work."""
        now, before = time.monotonic(), self._running
        self._running = []
        for cell in list(self._left):
            if cell.run.locked:
                self._running.append(cell)
                is_whole = not self._begun_before and not (cell.run.folder / LAST).exists()
                if cell not in before and is_whole:
                    self._times.begin(cell.run, now)
            elif self._has_ended(cell):
                self._left.remove(cell)
                self._times.end(cell.run, self._kinds[cell.run], now)
                self._print(cell)
        self._begun_before = False
        if self._live is not None:
            self._live.update(self._table(now), refresh=True)

    def _has_ended(self, cell: Cell) -> bool:
        return cell.run.finished or cell.run.failure != self._failed_before[cell.run]

    def _print(self, cell: Cell) -> None:
        """`3/6  listops nystrom seed 1  33.1 %  62 s`."""
        number = f"{self._count - len(self._left)}/{self._count}".rjust(2 * len(str(self._count)) + 1)
        name = self._names[cell.run].ljust(self._name_width)
        failure = None if cell.run.finished else cell.run.failure
        if failure is not None:
            text = Text.assemble((number, "bold"), f"  {name}  ", ("failed", "red"), f": {visible(failure.error)}")
        else:
            text = Text.assemble((number, "bold"), f"  {name}  {_result(cell)}")
        self._console.print(text)

    def _table(self, now: float) -> Group:
        """Draw the cells at work, a row each, and a line for those that wait."""
        states = {cell.run: read_progress(cell.run) for cell in self._running}
        columns = {
            "step": [progress.step_text for progress in states.values()],
            "speed": [progress.rate_text for progress in states.values()],
            "time left": [_left_text(progress) for progress in states.values()],
        }
        if self._console.width < LEAST_WIDTH:
            del columns["speed"]
        table = _rows([self._names[run] for run in states], columns, self._console.width)
        waiting = [cell for cell in self._left if cell not in self._running]
        seconds = self._times.left(
            [(run, self._kinds[run], progress.seconds_left) for run, progress in states.items()],
            [self._kinds[cell.run] for cell in waiting],
            now,
        )
        words = [f"{self._count - len(self._left)} of {self._count} ended"]
        if waiting:
            words.append(f"{len(waiting)} wait{'s' if len(waiting) == 1 else ''}")
        if seconds:
            words.append(f"about {duration_text(seconds)} left for all")
        last_line = Text(", ".join(words), style="dim", no_wrap=True, overflow="ellipsis")
        return Group(Text(), *([table] if states else []), last_line)


def _rows(names: Sequence[str], columns: Mapping[str, Sequence[str]], width: int) -> Table:
    """Draw a table of names and columns, all of whose texts are whole: a narrow terminal cuts the names."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    others = sum(max(map(len, (head, *texts))) + len(GAP) for head, texts in columns.items())
    table.add_column("at work", no_wrap=True, overflow="ellipsis", max_width=max(width - others, LEAST_NAME))
    for head in columns:
        table.add_column(head, justify="right", no_wrap=True)
    for row in zip(names, *columns.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def first_line(cells: Sequence[Cell], group: Path) -> str:
    """Word how many cells of a run group there are to run, and where what their runs print is to be found."""
    ended = sum(cell.ended for cell in cells)
    before = f", {ended} of them ended before" if ended else ""
    return visible(f"{len(cells)} cells{before}; what each run prints is in {OUTPUT} in its folder, below {group}")


def _left_text(progress: Progress) -> str:
    if progress.seconds_left is None:
        return ""
    return "testing" if progress.step == progress.steps else duration_text(progress.seconds_left)


def _result(cell: Cell) -> str:
    """Word the accuracy of a finished cell, and how long it was trained; of a trial the accuracy on dev examples."""
    try:
        record = cell.run.record
    except UserError:  # of another version
        record = None
    if record is None:
        return "finished"
    outcome, seconds = record.outcome, record.train_seconds
    accuracy = f"{100 * outcome['test_accuracy']:.1f} %"
    if cell.trial is not None:
        accuracy = f"dev {100 * outcome['best_dev_accuracy']:.1f} %"
    return f"{accuracy}  {duration_text(seconds)}"
