"""Print a table on a terminal that is narrower than the table: cells take two lines, columns are left out by rank.

No word and no number is split. On a terminal too narrow even for the columns that must stay, `print_table` lists the
cells.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lra.cli_support.console import print_table
from lra.results.tables import EMPTY, TextTable

BREAKS = re.compile(  # where a cell may be broken into lines
    r" (?=±|\[|within$|outside$|on the test set|\([0-9]+ seeds?\)$|[0-9]+ of )|(?<=;) |(?<=seeds) "
)
TIGHT = {"box": box.SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "collapse_padding": True}


def print_text_table(console: Console, table: TextTable) -> None:
    """Print a table without its notes; a line below says which columns the terminal has no room for."""
    if not console.is_terminal:  # a pipe, whose width is not limited
        console.out(table.to_plain(), highlight=False)
        return
    shown, left_out = fitted(table, console.width)
    print_table(console, shown)
    if left_out:
        names = ", ".join(left_out)
        console.print(f"not shown in {console.width} columns: {names}; a wider terminal shows all", style="dim")


def fitted(table: TextTable, width: int) -> tuple[Table, list[str]]:
    """Make a table that is at most `width` characters wide, with as many columns as fit; also name those left out.

    Columns without a value are left out first, then the table's `optional` ones, the first of them first. If none of
    this is enough, the table is returned whole.
    """
    whole = list(range(len(table.columns)))
    if not table.rows or _room(table, whole, tight=False, folded=False) <= width:
        return table.to_rich(), []
    empty = [name for place, name in enumerate(table.columns) if all(row[place] in EMPTY for row in table.rows)]
    left_out = empty
    for name in (None, *table.optional):
        left_out = [*left_out, name] if name and name not in left_out else left_out
        columns = [place for place in whole if place == 0 or table.columns[place] not in left_out]
        for tight, folded in ((False, False), (True, False), (True, True)):
            spare = width - _room(table, columns, tight=tight, folded=folded)
            if spare >= 0:
                return _rich(table, columns, spare, tight=tight, folded=folded), left_out
    return table.to_rich(), []


def _room(table: TextTable, columns: list[int], *, tight: bool, folded: bool) -> int:
    """The least width of a table; between the texts of two columns are three characters, or two if it is tight."""
    edges = 2 * (len(columns) - 1) if tight else 3 * len(columns) + 1
    return sum(_widths(table, columns, folded=folded)) + edges


def _lines(table: TextTable, place: int, *, folded: bool) -> list[str]:
    cells = [row[place] for row in table.rows]
    return [line for cell in cells for line in (BREAKS.split(cell) if folded else [cell])] or [""]


def _is_prose(table: TextTable, place: int) -> bool:
    return place == 0 or table.columns[place] in table.prose


def _widths(table: TextTable, columns: list[int], *, folded: bool) -> list[int]:
    """The least width of each column: of its longest line; prose and heads may be broken between words."""
    widths = []
    for place in columns:
        lines = _lines(table, place, folded=folded)
        if _is_prose(table, place):
            lines = [word for row in table.rows for word in row[place].split()]
        widths.append(max(map(len, [*lines, *table.columns[place].split(), ""])))
    return widths


def _spread(table: TextTable, columns: list[int], widths: list[int], spare: int) -> list[int]:
    """Give what is left of the terminal's width to the columns of prose that lack most."""
    lacking = [
        max(map(len, _lines(table, place, folded=False))) - width if _is_prose(table, place) else 0
        for place, width in zip(columns, widths, strict=True)
    ]
    for _ in range(spare):
        most = max(range(len(columns)), key=lambda number: lacking[number])
        if lacking[most] > 0:
            lacking[most] -= 1
            widths[most] += 1
    return widths


def _rich(table: TextTable, columns: list[int], spare: int, *, tight: bool, folded: bool) -> Table:
    widths = _spread(table, columns, _widths(table, columns, folded=folded), spare)
    looks: dict[str, Any] = TIGHT if tight else {}
    shown = Table(title=Text(table.title), title_justify="left", **looks)
    for place, width in zip(columns, widths, strict=True):
        justify: Literal["left", "right"] = "left" if _is_prose(table, place) else "right"
        shown.add_column(Text(table.columns[place]), justify=justify, width=width)
    for number, row in enumerate(table.rows):
        last = number + 1 == len(table.rows) or not table.rows[number + 1][0].startswith(" ")
        cells = [
            BREAKS.sub("\n", row[place]) if folded and not _is_prose(table, place) else row[place] for place in columns
        ]
        shown.add_row(*map(Text, cells), style="dim" if row[0].startswith(" ") else None, end_section=last)
    return shown
