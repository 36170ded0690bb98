"""A table of words, and its forms: terminal, Markdown, CSV, LaTeX."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table
from tabulate import tabulate

MISSING = "–"


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """Rows of words below a title, with notes under it.

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
    numbers: list[dict[str, Any]] = field(default_factory=list)

    def to_rich(self) -> Table:
        """For a terminal, without the notes."""
        table = Table(title=self.title, title_justify="left")
        for number, name in enumerate(self.columns):
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for number, row in enumerate(self.rows):
            last = number + 1 == len(self.rows) or not self.rows[number + 1][0].startswith(" ")
            table.add_row(*row, style="dim" if row[0].startswith(" ") else None, end_section=last)
        return table

    def to_markdown(self) -> str:
        """GitHub's kind, notes as lines below."""
        body = tabulate(
            [[_escaped(word) for word in row] for row in self.rows],
            [_escaped(name) for name in self.columns],
            tablefmt="pipe",
            colalign=self._alignments(),
            disable_numparse=True,
        )
        return "\n\n".join([f"**{self.title}**", body, *self.notes]) + "\n"

    def to_latex(self) -> str:
        """A booktabs tabular, notes as comments."""
        body = tabulate(
            self.rows, self.columns, tablefmt="latex_booktabs", colalign=self._alignments(), disable_numparse=True
        )
        body = body.replace("±", r"$\pm$").replace("−", "$-$").replace("–", "--").replace("†", r"$\dagger$")
        return "\n".join([f"% {line}" for line in (self.title, *self.notes)] + [body.replace("‡", r"$\ddagger$"), ""])

    def to_csv(self) -> str:
        """One line per cell with plain numbers where there are any, else the rows."""
        text = io.StringIO()
        if self.numbers:
            writer = csv.DictWriter(text, list(self.numbers[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.numbers)
        else:
            plain = csv.writer(text, lineterminator="\n")
            plain.writerows([list(self.columns), *self.rows])
        return text.getvalue()

    def to_text(self, form: str) -> str:
        """The table as `markdown`, `csv` or `latex`."""
        makers = {"markdown": self.to_markdown, "csv": self.to_csv, "latex": self.to_latex}
        return makers[form]()

    def _alignments(self) -> tuple[str, ...]:
        return ("left", *["right"] * (len(self.columns) - 1))


def _escaped(word: str) -> str:
    return word.replace("|", r"\|")


def number(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """A number in a table, with a real minus; a dash for None."""
    return MISSING if value is None else f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")
