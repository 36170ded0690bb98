"""Read a parquet file: a column of texts or of lists of ids, one of labels, and perhaps one of splits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from data_prep.tokens.collect import Rows
from data_prep.tokens.table import Columns, Table
from lra.types import UserError

READ_ROWS = 256  # rows that are in memory together


def read_parquet(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows, see `read_table`.

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
