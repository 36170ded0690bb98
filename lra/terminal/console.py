"""The console that commands print to, its tables, and how sizes are worded."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120  # least width of output into a pipe, which has no width of its own
ANY_WIDTH = 1000


def make_console() -> Console:
    """Make a console for standard output; colours and progress bars only on a terminal (or with FORCE_COLOR=1).

    Markup is off, because names of folders and texts of records may contain brackets. Colours come from `style=` and
    from `rich.text.Text`.
    """
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def measured(console: Console, table: Table) -> Measurement:
    """Measure the widths of a table in characters: the least, where texts are broken between words, and the whole."""
    return Measurement.get(console, console.options.update(width=ANY_WIDTH), table)


def print_table(console: Console, table: Table) -> None:
    """Print a table without cutting it: in full width into a pipe, as one line per cell on a too narrow terminal."""
    needed = measured(console, table)
    if not console.is_terminal:  # the width of a pipe is not limited
        console.width = max(console.width, needed.maximum)
    if console.width >= needed.minimum:
        for column in table.columns:
            column.overflow = "fold"  # else rich cuts text that is wider than its column
        console.print(table, soft_wrap=False)
        return
    console.print(table.title or "", style="italic")
    names = [str(column.header) for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for name, cell in zip(names, row, strict=True):
            if str(cell):
                console.print(Text.assemble((f"{name}: " if name else "", "dim"), str(cell)))
        console.print()


def size_text(count: float) -> str:
    """Word a number of bytes in a readable unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
