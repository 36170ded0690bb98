"""The console that commands print to, and the bar of a measurement with the time left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PIPE_WIDTH = 120  # least width of output into a pipe, which has no width of its own
Advance = Callable[..., object]  # takes `what`, a text, and `cost`


def make_console() -> Console:
    """Make a console for standard output; colours and progress bars only on a terminal (or with FORCE_COLOR=1).

    Markup is off, because names of folders and texts of records may contain brackets. Colours come from `style=` and
    from `rich.text.Text`.
    """
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


@contextmanager
def work_progress(console: Console, total: float) -> Iterator[Advance]:
    """Yield a function that takes what is measured now and the cost of what has been measured, and advances the bar.

    `total` is the sum of all costs, in any unit; without any there is no bar.
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
