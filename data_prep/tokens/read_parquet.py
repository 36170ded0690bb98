"""Read a parquet file: a column of texts or of lists of ids, and one of labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from data_prep.parquet_columns import ParquetColumns, content_of, is_list_of_ids, is_text, numbers_of, opened
from data_prep.tokens.collect import Rows
from data_prep.tokens.table import LARGEST_INT64, Columns, Table, check_cell, wrong_id
from lra.types import UserError

if TYPE_CHECKING:  # loading it takes half a second, and other forms do not need it
    import pyarrow as pa


def read_parquet(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows, see `read_table`.

    Raises:
        UserError: with the row, when the file is not such a table.
    """
    with opened(path) as file:
        columns = Columns.of(path, file.names, settings.get("columns"))
        _check_types(file, columns)
        names = [name for name in columns if name is not None]
        with Rows(path, scratch, settings.get("tokens"), columns) as rows:
            for _, (contents, labels, *splits) in file.batches(names):
                for number in range(len(contents)):
                    location = f"{path}, row {len(rows)}"
                    split = _word(splits[0][number], location, "split") if splits else None
                    rows.add(_tokens(contents[number], location), _word(labels[number], location, "label"), split)
    return rows.table()


def _check_types(file: ParquetColumns, columns: Columns) -> None:
    """Refuse a column whose type no row can be read from."""
    import pyarrow as pa

    tokens = file.column_type(columns.tokens)
    if not is_text(tokens) and not is_list_of_ids(tokens):
        hint = "; images are read from a folder, CLASS/NAME.png" if tokens and pa.types.is_struct(tokens) else ""
        raise UserError(
            f"{file.path}: column {columns.tokens!r:.60} holds {tokens!s:.60}, not texts or lists of whole"
            f" numbers{hint}",
            kind="wrong_column",
            key=columns.tokens,
        )
    label = file.column_type(columns.label)
    assert label is not None
    values = label.value_type if pa.types.is_dictionary(label) else label
    if not is_text(values) and not pa.types.is_integer(values) and not pa.types.is_boolean(values):
        raise UserError(
            f"{file.path}: column {columns.label!r:.60} holds {label!s:.60}; labels are whole numbers or names",
            kind="wrong_column",
            key=columns.label,
        )


def _tokens(value: pa.Scalar, location: str) -> str | np.ndarray | None:
    """Return a row's text, or its ids; None: it has neither."""
    if is_text(value.type):
        return _text(value, location, "the text")
    ids = numbers_of(value)
    if ids is not None and ids.dtype == np.uint64 and len(ids) and ids.max() > LARGEST_INT64:
        raise wrong_id(location, int(ids.max()))
    return None if ids is None else ids.astype(np.int64)


def _text(value: pa.Scalar, location: str, what: str) -> str | None:
    content = content_of(value)
    if content is None:
        return None
    check_cell(location, content.size)
    raw: bytes = content.to_pybytes()
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{location}: {what} is not UTF-8: {error}", kind="no_utf8") from error


def _word(value: pa.Scalar, location: str, what: str) -> str:
    """Return a label or a split as a word, which is empty if the row has none."""
    if is_text(value.type):
        return (_text(value, location, f"the {what}") or "").strip()
    number = value.as_py()
    return "" if number is None else str(number)
