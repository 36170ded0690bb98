"""Read a CSV file in UTF-8: texts, or ids or words separated by spaces, and labels."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from data_prep.tokens.collect import Rows
from data_prep.tokens.table import MOST_CELL_BYTES, Columns, Table
from lra.types import UserError

MOST_ROW_LETTERS = 4 * MOST_CELL_BYTES  # of all cells together, which are in memory


def read_csv(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows, see `read_table`.

    Raises:
        UserError: with the line, when the file is not such a table.
    """
    csv.field_size_limit(MOST_ROW_LETTERS)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = _Lines(path, file)
            cells = csv.reader(lines, strict=True)
            names = next(cells, [])
            columns = Columns.of(path, names, settings.get("columns"))
            index_of = {column: names.index(column) for column in columns if column is not None}
            with Rows(path, scratch, settings.get("tokens"), columns) as rows:
                lines.begin_row()
                for row in cells:
                    lines.begin_row()
                    if not row:  # an empty line
                        continue
                    if len(row) > len(names):
                        raise UserError(f"{path}, line {cells.line_num}: {len(row)} cells instead of {len(names)}")
                    row += [""] * (len(names) - len(row))
                    split = None if columns.split is None else row[index_of[columns.split]]
                    rows.add(row[index_of[columns.tokens]], row[index_of[columns.label]].strip(), split, cells.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        where = f"{path}, line {cells.line_num}" if isinstance(error, csv.Error) else path
        remedy = "" if isinstance(error, csv.Error) else "; save it in UTF-8"
        raise UserError(f"{where} cannot be read as CSV in UTF-8: {error}{remedy}", kind="no_csv") from error
    return rows.table()


class _Lines:
    """The lines of a file for the csv module, which reads a whole row, however long it is, before it gives it."""

    def __init__(self, path: Path, file: TextIO):
        self.path, self.file = path, file
        self.number = self.letters_of_row = 0

    def begin_row(self) -> None:
        """Count the letters of the row that comes now."""
        self.letters_of_row = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.file.readline(MOST_ROW_LETTERS + 1 - self.letters_of_row)
        if not line:
            raise StopIteration
        self.number += 1
        self.letters_of_row += len(line)
        if self.letters_of_row > MOST_ROW_LETTERS:
            raise UserError(
                f"{self.path}, line {self.number}: a row of more than {MOST_ROW_LETTERS:,} letters, which is the limit;"
                " is a line end, or a closing quote, missing?",
                kind="large_row",
                right=MOST_ROW_LETTERS,
            )
        return line
