"""Read a CSV file in UTF-8: columns of texts, or of ids or words separated by spaces, of labels, perhaps of splits."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data_prep.tokens.collect import Rows
from data_prep.tokens.table import Columns, Table
from lra.types import UserError

MOST_CELL_LETTERS = 1 << 24  # largest number of letters in a cell


def read_csv(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows, see `read_table`.

    Raises:
        UserError: with the line, when the file is not such a table.
    """
    csv.field_size_limit(MOST_CELL_LETTERS)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, restkey="more", restval="", strict=True)
            names = list(lines.fieldnames or [])
            columns = Columns.of(path, names, settings.get("columns"))
            with Rows(path, scratch, settings.get("tokens"), columns) as rows:
                for line in lines:
                    place = f"{path}, line {lines.line_num}"
                    if "more" in line:
                        raise UserError(f"{place}: {len(names) + len(line['more'])} cells instead of {len(names)}")
                    split = None if columns.split is None else line[columns.split]
                    rows.add(line[columns.tokens], line[columns.label].strip(), split, lines.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    return rows.table()
