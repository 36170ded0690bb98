"""Read a file of the user's own: CSV and parquet here, NPZ and a folder of images by modules of their own."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from data_prep.tokens.collect import TOKENS, Rows
from data_prep.tokens.read_images import read_images
from data_prep.tokens.read_npz import read_npz
from data_prep.tokens.table import MOST_FILE_BYTES, Columns, Table
from lra.base.files import regular_file
from lra.types import UserError

MOST_CELL_LETTERS = 1 << 24  # largest number of letters in a cell
READ_ROWS = 256  # rows that are in memory together


def read_csv(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows of a CSV file in UTF-8, see `read_table`: texts, or ids or words separated by spaces, and labels.

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


def read_parquet(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows of a parquet file, see `read_table`: a column of texts or of lists of ids, and one of labels.

    Raises:
        UserError: with the row, when the file is not such a table.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = Columns.of(path, list(file.schema_arrow.names), settings.get("columns"))
            names = [name for name in columns if name is not None]
            with Rows(path, scratch, settings.get("tokens"), columns) as rows:
                for batch in file.iter_batches(READ_ROWS, columns=names):
                    for content, label, *split in zip(*(batch[name].to_pylist() for name in names), strict=True):
                        if not isinstance(label, str | int):
                            place = f"{path}, row {len(rows)}"
                            raise UserError(f"{place}: label {label!r:.60}; labels are whole numbers or names")
                        rows.add(_as_array(content), str(label), str(split[0]) if split else None)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} cannot be read as parquet: {' '.join(str(error).split())}") from error
    return rows.table()


def _as_array(content: object) -> object:
    is_list = isinstance(content, list) and all(type(number) is int for number in content)
    return np.array(content, np.int64) if is_list else content


Reader = Callable[[Path, Path, Mapping[str, Any]], Table]
READERS: Mapping[str, Reader] = {".csv": read_csv, ".npz": read_npz, ".parquet": read_parquet}


def read_table(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows of a file or, if it is a folder, of its images.

    Args:
        path: the file.
        scratch: folder for temporary files; one with all tokens is among them.
        settings: the task's `data` settings; read are `tokens`, one of TOKENS, and `columns`, see `Columns`.

    Raises:
        UserError: when there is no such file, or its content is not as the settings say.
    """
    asked = settings.get("tokens")
    if asked not in (None, *TOKENS):
        raise UserError(f"tokens={asked!s:.60} is not known; it may be {', '.join(TOKENS)}", key="tokens", value=asked)
    if not path.exists():
        raise UserError(f"source={path} is not there; type source=FILE, such as source=my.csv")
    if not path.is_dir() and path.suffix not in READERS:
        raise UserError(f"source={path} is no {', '.join(READERS)} file, and no folder of PNG files by class")
    if not path.is_dir() and path.stat().st_size > MOST_FILE_BYTES:
        raise UserError(f"source={path} has {path.stat().st_size:,} bytes, more than {MOST_FILE_BYTES:,}")
    read = read_images if path.is_dir() else READERS[regular_file(path).suffix]
    table = read(path, scratch, settings)
    if asked not in (None, table.tokens):
        line = f"{path} has {table.tokens}, but tokens is {asked}; leave it out, or set tokens={table.tokens}"
        raise UserError(line, key="tokens", value=asked, right=table.tokens)
    return table
