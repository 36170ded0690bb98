"""A table of words, and its forms: terminal, Markdown, CSV, LaTeX."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace

from rich.table import Table
from rich.text import Text
from tabulate import tabulate

from lra.results.text import for_csv, for_markdown, visible

MISSING = "–"
TEX = {"±": r"$\pm$", "−": "$-$", "–": "--", "†": r"$\dagger$", "‡": r"$\ddagger$"}


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """Rows of words below a title, with notes under it; every word is one line of printable signs.

    Attributes:
        title: what it is.
        columns: their names.
        rows: one word for each column; a row that begins with a space belongs to the one above.
        notes: lines that belong to it always.
        numbers: the same content as numbers, one flat dictionary per cell, for CSV; the rows themselves if empty.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    numbers: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Spell out what is not printable, in every word."""
        shown = {
            "title": visible(self.title),
            "columns": tuple(map(visible, self.columns)),
            "rows": [list(map(visible, row)) for row in self.rows],
            "notes": list(map(visible, self.notes)),
            "numbers": [{visible(key): _visible(value) for key, value in cell.items()} for cell in self.numbers],
        }
        for name, value in shown.items():
            object.__setattr__(self, name, value)

    def with_notes(self, *notes: str) -> TextTable:
        """The same table with more lines below."""
        return replace(self, notes=[*self.notes, *notes])

    def to_rich(self) -> Table:
        """For a terminal, without the notes; words are text there, not markup."""
        table = Table(title=Text(self.title), title_justify="left")
        for number, name in enumerate(self.columns):
            table.add_column(Text(name), justify="right" if number else "left", overflow="fold")
        for number, row in enumerate(self.rows):
            last = number + 1 == len(self.rows) or not self.rows[number + 1][0].startswith(" ")
            table.add_row(*map(Text, row), style="dim" if row[0].startswith(" ") else None, end_section=last)
        return table

    def to_markdown(self) -> str:
        """GitHub's kind, notes as lines below."""
        body = tabulate(
            [list(map(for_markdown, row)) for row in self.rows],
            list(map(for_markdown, self.columns)),
            tablefmt="pipe",
            colalign=self._alignments(),
            disable_numparse=True,
        )
        return "\n\n".join([f"**{for_markdown(self.title)}**", body, *map(for_markdown, self.notes)]) + "\n"

    def to_latex(self) -> str:
        """A booktabs tabular, whose words tabulate escapes; title and notes as comments, a line each."""
        body = tabulate(
            self.rows, self.columns, tablefmt="latex_booktabs", colalign=self._alignments(), disable_numparse=True
        )
        for sign, command in TEX.items():
            body = body.replace(sign, command)
        return "\n".join([*(f"% {line}" for line in (self.title, *self.notes)), body, ""])

    def to_csv(self) -> str:
        """One line per cell with plain numbers where there are any, else the rows."""
        cells: list[list[object]] = [list(cell.values()) for cell in self.numbers] or [list(row) for row in self.rows]
        names = list(self.numbers[0]) if self.numbers else self.columns
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([list(map(for_csv, row)) for row in [names, *cells]])
        return text.getvalue()

    def to_text(self, form: str) -> str:
        """The table as `markdown`, `csv` or `latex`."""
        makers = {"markdown": self.to_markdown, "csv": self.to_csv, "latex": self.to_latex}
        return makers[form]()

    def _alignments(self) -> tuple[str, ...]:
        return ("left", *["right"] * (len(self.columns) - 1))


def _visible(value: object) -> object:
    return visible(value) if isinstance(value, str) else value


def number(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """A number in a table, with a real minus; a dash for None."""
    return MISSING if value is None else f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")
