"""Print a table and its notes, also on a terminal that is narrower than they are.

No word and no number is split. Cells take two lines, then columns are left out by rank. On a terminal too narrow even
for the columns that must stay, the cells are listed.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

from lra.base.text import visible
from lra.terminal.figure_file import Drawn
from lra.terminal.text_table import GAP, TextTable

ANY_WIDTH = 1000
INDENT = "    "  # of the cells below the name of their row
LEAST_WIDTH = 40  # on a narrower terminal lines are not broken between words
WORDS = re.compile(r"(?:^ +)?\S+", re.MULTILINE)  # the first with its indentation


def print_text_table(console: Console, table: TextTable, *, most_notes: int | None = None) -> None:
    """Print a table, the sentences above it and its notes; a line says which columns the terminal has no room for.

    There may be `most_notes` notes; a line then says how many are left out.
    """
    if table.sentences:
        text = " ".join(table.sentences)
        width = console.width if console.is_terminal else len(text)
        for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            console.print(line, soft_wrap=True)
        console.print()
    if not console.is_terminal:  # a pipe, whose width is not limited
        console.out(table.to_plain(), highlight=False)
        _print_notes(console, table, most_notes)
        return
    shown, left_out = table_that_fits(table, console)
    if console.width >= _measured(console, shown).minimum:
        console.print(shown, soft_wrap=False)
    else:
        _print_cells(console, table)
    narrow = f"not shown in {console.width} columns: {', '.join(left_out)}" if left_out else ""
    _print_notes(console, table, most_notes, narrow)


def _print_notes(console: Console, table: TextTable, most_notes: int | None, narrow: str = "") -> None:
    """Print the notes that matter most, broken between words, behind what the terminal is too narrow for."""
    shown = table.first_notes(most_notes)
    hidden = len(table.notes) - len(shown)
    if narrow:
        shown.insert(0, narrow)
    if hidden:
        shown.append(f"{hidden} more note{'s' if hidden > 1 else ''}: notes=all")
    if shown:
        console.print()
    for note in shown:
        for line in wrapped(note, console.width) if console.is_terminal else [note]:
            console.print(line, style="dim", soft_wrap=True)


def print_prose(console: Console, text: str) -> None:
    """Print a text in which no command stands, on a terminal broken between words."""
    for line in wrapped(text, console.width) if console.is_terminal else [text]:
        console.print(line)


def print_figure(console: Console, drawn: Drawn) -> None:
    """Name the file of a figure, with its caption."""
    beside = " (.pdf and .svg beside it)" if drawn.path.suffix == ".png" else ""
    console.print(f"figure   {visible(str(drawn.path))}{beside}")
    print_prose(console, drawn.caption)


def wrapped(note: str, width: int) -> list[str]:
    """Break a note between words; the lines begin as the note does."""
    indent = " " * (len(note) - len(note.lstrip()) + 2)
    return textwrap.wrap(note, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def _print_cells(console: Console, table: TextTable) -> None:
    """Print each row as a paragraph: its name, then each other cell with the name of its column."""
    console.print(table.title)
    for row in table.rows:
        first, *cells = zip(table.columns, row, strict=True)
        pieces = [
            f"{first[0]}: {first[1]}" if first[0] else first[1],
            *(f"{name}: {cell}" for name, cell in cells if cell),
        ]
        lines = [""]
        for piece in pieces:
            joined = f"{lines[-1]}{GAP}{piece}" if lines[-1] else piece
            if len(joined) <= console.width:
                lines[-1] = joined
            else:
                lines += [piece] if not lines[-1] else [f"{INDENT}{piece}"]
        for line in filter(None, lines):
            for part in wrapped(line, console.width) if console.width > LEAST_WIDTH else [line]:
                console.print(part)
        console.print()


def _measured(console: Console, table: Table) -> Measurement:
    """Measure the widths of a table in characters: the least, where texts are broken between words, and the whole."""
    return Measurement.get(console, console.options.update(width=ANY_WIDTH), table)


def table_that_fits(table: TextTable, console: Console) -> tuple[Table, list[str]]:
    """Make a table that the terminal has room for, with as many columns as fit; also name those left out.

    Columns without a value are left out first, then the table's `optional` ones, the first of them first. If none of
    this is enough, the table is returned whole.
    """
    whole = table.to_rich()
    if not table.rows or _measured(console, whole).maximum <= console.width:
        return whole, []
    for left_out, folded in _choices(table):
        shown = table.without(left_out).to_rich(folded=folded)
        for column in shown.columns:
            texts = "\n".join(map(str, column.cells))
            pieces = texts.splitlines() if column.justify == "right" else WORDS.findall(texts)
            column.width = max(map(len, [*pieces, *str(column.header).split()]))
        spare = console.width - _measured(console, shown).minimum
        if spare >= 0:
            _widen(shown.columns, spare)
            return shown, left_out
    return whole, []


def _widen(columns: Sequence[Column], spare: int) -> None:
    """Give what is left of the terminal's width to the heads and the prose of most lines; rich would split words."""
    longest = [
        max(len(str(text)) for text in (column.header, *(column.cells if column.justify == "left" else ())))
        for column in columns
    ]
    for _ in range(spare):
        index = max(range(len(columns)), key=lambda index: longest[index] / (columns[index].width or 1))
        if longest[index] > (columns[index].width or 0):
            columns[index].width = (columns[index].width or 0) + 1


def _choices(table: TextTable) -> Iterator[tuple[list[str], bool]]:
    """Yield what may be done to a table, the least first: names of columns left out, and whether cells are folded."""
    left_out = table.empty_columns()
    yield [], False
    for name in (None, *table.optional):
        if name in table.columns and name not in left_out:
            left_out = [*left_out, name]
        yield left_out, False
        yield left_out, True
