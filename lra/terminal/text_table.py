"""A table of text, and its output formats: terminal, Markdown, CSV, LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from tabulate import tabulate

from lra.base.text import MISSING, for_csv, for_latex, for_markdown, visible
from lra.terminal.display_names import TASK, bibliography, display_name, named

EMPTY = ("", MISSING)
BREAKS = re.compile(r" (?=±|\[|within$|outside$|on the test set|\([0-9]+ seeds?\)$|[0-9]+ of )|(?<=;) |(?<=seeds) ")
SPREAD = re.compile(r"^(?P<middle>\S+) (?P<spread>± \S+|\[[^]]+\]) (?P<count>\([0-9]+\)\S*)$")  # `37.00 ± 1.00 (3)‡`
VERDICTS = re.compile(r"\b(within|outside)\b")  # the tolerance
VERDICT_STYLES = {"within": "not dim green", "outside": "not dim red"}
GAP = "  "  # between two columns


class Column(NamedTuple):
    """A column of a table: its head, and a text for each row.

    `optional`: a narrow terminal may leave it out, those with the lowest number first; 0: it always stays.
    `if_filled`: it is left out where no row has a value.
    """

    head: str
    cells: list[str]
    optional: int = 0
    if_filled: bool = False


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table of text with a title and notes; every text is one line of printable characters.

    Attributes:
        sentences: what the table shows, in a few words; a terminal has them above it.
        rows: one text for each column; a row that begins with a space belongs to the row above.
        notes: lines that are shown below the table, what matters most to a reader of the numbers first.
        details: how many of the last notes are details.
        warnings: those among the notes that say what is missing in the table, such as a record that cannot be read.
        optional: columns that a narrow terminal may leave out, the least important first.
        prose: columns whose texts may be broken between words, as those of the first column may.
        latex_caption: what the numbers in the cells are; the notes say it too, but LaTeX has it in the caption.
        best: the cells with the best value of their columns, as (number of the row, name of the column).
        csv_rows: the content as plain numbers for CSV, one flat dictionary per cell; if empty, CSV has the rows.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    sentences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    details: int = 0
    warnings: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    latex_caption: str = ""
    best: frozenset[tuple[int, str]] = frozenset()
    csv_rows: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Spell out characters that are not printable."""
        shown = {
            "title": visible(self.title),
            "columns": tuple(map(visible, self.columns)),
            "rows": [list(map(visible, row)) for row in self.rows],
            "sentences": list(map(visible, self.sentences)),
            "notes": list(map(visible, self.notes)),
            "warnings": tuple(map(visible, self.warnings)),
            "csv_rows": [{visible(key): _visible(value) for key, value in cell.items()} for cell in self.csv_rows],
        }
        for name, value in shown.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_columns(cls, columns: Sequence[Column], **others: Any) -> TextTable:
        """Make a table from its columns; `others` are attributes but columns, rows and `optional`."""
        shown = [
            column for column in columns if not column.if_filled or any(cell not in EMPTY for cell in column.cells)
        ]
        ranked = sorted((column.optional, column.head) for column in shown if column.optional)
        return cls(
            columns=tuple(column.head for column in shown),
            rows=[list(row) for row in zip(*(column.cells for column in shown), strict=True)],
            optional=tuple(head for _, head in ranked),
            **others,
        )

    def with_notes(self, *notes: str) -> TextTable:
        """Copy the table, with more notes, before those that are details."""
        end = len(self.notes) - self.details
        return replace(self, notes=[*self.notes[:end], *notes, *self.notes[end:]])

    def with_warnings(self, *notes: str) -> TextTable:
        """Copy the table, with more notes, which are warnings, before those that are details."""
        return replace(self.with_notes(*notes), warnings=(*self.warnings, *notes))

    def first_notes(self, count: int | None) -> list[str]:
        """Choose the notes that matter most, in their order: the first, warnings, the others; None: all notes."""
        by_weight = [*self.notes[:1], *self.warnings, *self.notes[1:]]
        chosen = list(dict.fromkeys(by_weight))[:count]
        return [note for note in self.notes if note in chosen]

    def with_details(self, *notes: str) -> TextTable:
        """Copy the table, with more notes that are details."""
        return replace(self, notes=[*self.notes, *notes], details=self.details + len(notes))

    def empty_columns(self) -> list[str]:
        """Name the columns, except the first, in which no row has a value."""
        columns = list(enumerate(self.columns))[1:]
        return [name for index, name in columns if all(row[index] in EMPTY for row in self.rows)]

    def without_empty_columns(self) -> TextTable:
        """Copy the table, without columns in which no row has a value."""
        return self.without(self.empty_columns())

    def without(self, columns: Collection[str]) -> TextTable:
        """Copy the table, without these columns; the first column stays."""
        kept = [index for index, name in enumerate(self.columns) if not index or name not in columns]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            rows=[[row[index] for index in kept] for row in self.rows],
        )

    def with_prose_after(self, before: str, column: str) -> TextTable:
        """Copy the table, with this column, whose texts may be broken between words, right behind another one."""
        order = [name for name in self.columns if name != column]
        order.insert(order.index(before) + 1, column)
        places = [self.columns.index(name) for name in order]
        rows = [[row[place] for place in places] for row in self.rows]
        return replace(self, columns=tuple(order), rows=rows, prose=(*self.prose, column))

    def to_rich(self, *, folded: bool = False) -> Table:
        """Convert to a table for a terminal, without the notes; texts are not parsed as markup.

        `folded`: a cell that is no prose takes a line for each of its parts, as for a mean and its deviation.
        """
        table = Table(
            title=Text(self.title) if self.title else None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            collapse_padding=True,
        )
        for name in self.columns:
            table.add_column(Text(name), justify="left" if self._is_left(name) else "right", overflow="fold")
        for index, row in enumerate(self.rows):
            cells = [
                self._cell(in_lines(cell) if folded and not self._is_left(name) else cell, (index, name))
                for cell, name in zip(row, self.columns, strict=True)
            ]
            style = "dim" if row[0].startswith(" ") else None
            table.add_row(*cells, style=style, end_section=self._ends_section(index, folded=folded))
        return table

    def _is_left(self, column: str) -> bool:
        return column in (self.columns[0], *self.prose)

    def _ends_section(self, index: int, *, folded: bool = False) -> bool:
        """Tell whether an empty line follows a row: between rows of several lines, or with rows that belong to them."""
        several = folded or any(row[0].startswith(" ") for row in self.rows)
        return several and index + 1 < len(self.rows) and not self.rows[index + 1][0].startswith(" ")

    def _cell(self, text: str, position: tuple[int, str]) -> Text:
        shown = Text(text, style="bold" if position in self.best else "")
        return shown if self._is_left(position[1]) else with_verdict(shown)

    def to_plain(self) -> str:
        """Convert to lines that look as `to_rich` does in full width, without colours; rich takes a millisecond a row.

        The notes are left out.
        """
        columns = list(zip(self.columns, *self.rows, strict=True))
        widths = [max(map(cell_len, column)) for column in columns]
        left = list(map(self._is_left, self.columns))

        def line(cells: Sequence[str]) -> str:
            padded = [
                cell + " " * (width - cell_len(cell)) if is_left else " " * (width - cell_len(cell)) + cell
                for cell, width, is_left in zip(cells, widths, left, strict=True)
            ]
            return GAP.join(padded).rstrip()

        lines = [self.title] if self.title else []
        lines += [line(self.columns), "─" * (sum(widths) + len(GAP) * (len(widths) - 1))]
        for index, row in enumerate(self.rows):
            lines.append(line(row))
            if self._ends_section(index):
                lines.append("")
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """Convert to GitHub's Markdown, with the notes as paragraphs below."""
        rows = self._written(for_markdown, "**{}**")
        heads = list(map(for_markdown, self.columns))
        sides = ("left", *["right"] * (len(self.columns) - 1))
        body = tabulate(rows, heads, tablefmt="pipe", colalign=sides, disable_numparse=True)
        return "\n\n".join([f"**{for_markdown(self.title)}**", body, *map(for_markdown, self.notes)]) + "\n"

    def _written(self, write: Callable[[str], str], bold: str) -> list[list[str]]:
        """Write each cell with a function, and those with the best values into `bold`."""
        return [
            [
                bold.format(write(cell)) if (index, name) in self.best else write(cell)
                for name, cell in zip(self.columns, row, strict=True)
            ]
            for index, row in enumerate(self.rows)
        ]

    def to_latex(self) -> str:
        """Convert to a LaTeX table with caption and label, without columns that have no value.

        Methods and tasks have their display names, methods their citations; the best values are bold. Notes and BibTeX
        entries of the citations are comments. It needs booktabs, and graphicx to shrink a table that is too wide.
        """
        shown = self.without_empty_columns()
        label = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        keys = {named(row[0]).key for row in shown.rows} - {""}
        title, *heads = (display_name(text, of=TASK) for text in (self.title, *shown.columns))
        caption = ". ".join(filter(None, [title, self.latex_caption, "Bold: best of a column." if self.best else ""]))
        written = shown._written(for_latex, r"\textbf{{{}}}")
        lines = [[_latex_name(row[0]), *cells[1:]] for row, cells in zip(shown.rows, written, strict=True)]
        return "\n".join(
            [
                *(f"% {note}" for note in self.notes),
                *(f"% {line}" for entry in bibliography(keys) for line in entry.splitlines()),
                r"% in the preamble: \usepackage{booktabs,graphicx}",
                r"\begin{table*}",
                r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
                rf"\caption{{{for_latex(caption)}}}",
                rf"\label{{tab:{label}}}",
                r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",  # a table that is too wide shrinks
                rf"\begin{{tabular}}{{l{'r' * (len(shown.columns) - 1)}}}",
                r"\toprule",
                " & ".join(map(for_latex, heads)) + r" \\",
                r"\midrule",
                *(" & ".join(line) + r" \\" for line in lines),
                r"\bottomrule",
                r"\end{tabular}}",
                r"\end{table*}",
                "",
            ]
        )

    def to_csv(self) -> str:
        """Convert to CSV: one line per cell if there are `csv_rows`, else one per row."""
        cells: list[list[object]] = [list(cell.values()) for cell in self.csv_rows] or [list(row) for row in self.rows]
        names = list(self.csv_rows[0]) if self.csv_rows else self.columns
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([list(map(for_csv, row)) for row in [names, *cells]])
        return text.getvalue()

    def to_text(self, form: str) -> str:
        """Convert to the format `form`: `markdown`, `csv` or `latex`."""
        makers = {"markdown": self.to_markdown, "csv": self.to_csv, "latex": self.to_latex}
        return makers[form]()


def _visible(value: object) -> object:
    return visible(value) if isinstance(value, str) else value


def in_lines(cell: str) -> str:
    """Break a cell between its parts; the number of seeds stays beside the mean: `37.00 (3)`, and below `± 1.00`."""
    return BREAKS.sub("\n", SPREAD.sub(r"\g<middle> \g<count>\n\g<spread>", cell))


def with_verdict(text: Text) -> Text:
    """Colour the verdict in a text: green within, red outside the tolerance."""
    verdict = VERDICTS.search(text.plain)
    if verdict is not None:
        text.stylize(VERDICT_STYLES[verdict.group()], *verdict.span())
    return text


def _latex_name(name: str) -> str:
    display, key, rest = named(name)
    cited, space = rf"~\cite{{{key}}}" if key else "", " " if rest.startswith(" ") else ""
    return f"{for_latex(display)}{cited}{space}{for_latex(rest.lstrip())}" if display else for_latex(name)
