"""Print a table on a terminal that is narrower than the table: cells take two lines, columns are left out by rank.

No word and no number is split. On a terminal too narrow even for the columns that must stay, `print_table` lists the
cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Column, Table

from lra.results.tables import TextTable
from lra.terminal.console import measured, print_table


def print_text_table(console: Console, table: TextTable) -> None:
    """Print a table without its notes; a line below says which columns the terminal has no room for."""
    if not console.is_terminal:  # a pipe, whose width is not limited
        console.out(table.to_plain(), highlight=False)
        return
    shown, left_out = fitted(table, console)
    print_table(console, shown)
    if left_out:
        names = ", ".join(left_out)
        console.print(f"not shown in {console.width} columns: {names}; a wider terminal shows all", style="dim")


def fitted(table: TextTable, console: Console) -> tuple[Table, list[str]]:
    """Make a table that the terminal has room for, with as many columns as fit; also name those left out.

    Columns without a value are left out first, then the table's `optional` ones, the first of them first. If none of
    this is enough, the table is returned whole.
    """
    whole = table.to_rich()
    if not table.rows or measured(console, whole).maximum <= console.width:
        return whole, []
    for left_out, tight, folded in _choices(table):
        shown = table.without(left_out).to_rich(folded=folded)
        if tight:
            shown.box, shown.show_edge, shown.pad_edge, shown.collapse_padding = box.SIMPLE_HEAD, False, False, True
        for column in shown.columns:
            texts = "\n".join(map(str, column.cells))
            pieces = texts.splitlines() if column.justify == "right" else texts.split()  # lines, or words of prose
            column.width = max(map(len, [*pieces, *str(column.header).split()]))
        spare = console.width - measured(console, shown).minimum
        if spare >= 0:
            _widen(shown.columns, spare)
            return shown, left_out
    return whole, []


def _widen(columns: Sequence[Column], spare: int) -> None:
    """Give what is left of the terminal's width to the heads and the prose that lack most; rich would split words."""
    lacking = [
        max(len(str(text)) for text in (column.header, *(column.cells if column.justify == "left" else ())))
        - (column.width or 0)
        for column in columns
    ]
    for _ in range(spare):
        place = max(range(len(columns)), key=lacking.__getitem__)
        if lacking[place] > 0:
            lacking[place] -= 1
            columns[place].width = (columns[place].width or 0) + 1


def _choices(table: TextTable) -> Iterator[tuple[list[str], bool, bool]]:
    """Yield what may be done to a table, the least first: names of columns left out, tight columns, folded cells."""
    yield [], False, False
    left_out = table.empty_columns()
    for name in (None, *table.optional):
        if name and name not in left_out:
            left_out = [*left_out, name]
        for tight, folded in ((False, False), (True, False), (True, True)):
            yield left_out, tight, folded
