"""The console that commands print to, its tables, and how sizes are worded."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120  # of tables, where there is no terminal to ask
ANY_WIDTH = 1000


def make_console() -> Console:
    """Standard output; colours and bars only on a terminal (or with FORCE_COLOR=1).

    Text is printed as it is, brackets too: names of folders and words of records are no markup. Colours come from
    `style=` and from `rich.text.Text`.
    """
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def print_table(console: Console, table: Table) -> None:
    """Print a table whole: as wide as it is into a pipe, as lines on a terminal that is narrower than its words."""
    needed = Measurement.get(console, console.options.update(width=ANY_WIDTH), table)
    if not console.is_terminal:  # a pipe has no width to keep to
        console.width = max(console.width, needed.maximum)
    if console.width >= needed.minimum:
        for column in table.columns:
            column.overflow = "fold"  # else rich cuts off what a column has no room for
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
    """Bytes in readable units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
