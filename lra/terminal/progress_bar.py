"""Show the progress of a measurement as a bar with the time left; only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Advance = Callable[..., object]  # takes `what`, a text, and `cost`


@contextmanager
def work_progress(console: Console, total: float) -> Iterator[Advance]:
    """Yield a function that takes what is measured now and the cost of what has been measured, and advances the bar.

    Args:
        console: where to show the bar.
        total: the sum of all costs, in any unit; without any there is no bar.
    """
    if not console.is_terminal or not total:
        yield lambda what, cost: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)

        def advance(what: str, cost: float) -> None:
            bar.update(task, advance=cost, description=what)

        yield advance
