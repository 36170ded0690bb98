"""Read columns of one parquet file, a few rows at a time, whichever types its writer chose for texts.

A file can have a text once and say that many rows hold it, so that its rows need far more memory than its bytes. What a
row can need is known from what the file says of its row groups, and decides how many rows are read together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data_prep.archives import FREE_BYTES, MOST_TIMES_LARGER
from lra.base.text import visible
from lra.types import UserError

if TYPE_CHECKING:  # loading it takes half a second, and other forms do not need it
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_BYTES = 1 << 26  # that the rows which are read together may need, unless so few rows need more
FEWEST_ROWS, MOST_ROWS = 4, 1024
STREAM_BYTES = 1 << 20  # of the file that are in memory; without it a whole row group is
VALUE_BYTES = 8  # of a number
LARGEST_NAME_BYTES, MOST_PARTS = 1 << 20, 1 << 16  # in the file's own description of itself
LETTERS = 160  # letters of pyarrow's text, and of a list of columns, in an error


@contextmanager
def opened(path: Path) -> Iterator[ParquetColumns]:
    """Open a file; what pyarrow raises in the block becomes one line.

    Raises:
        UserError: for a damaged file, and for one that says that it is larger than it can be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(
            path,
            thrift_string_size_limit=LARGEST_NAME_BYTES,
            thrift_container_size_limit=MOST_PARTS,
            arrow_extensions_enabled=False,
            buffer_size=STREAM_BYTES,
        ) as file:
            _check_sizes(file, path)
            yield ParquetColumns(path=path, file=file)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = visible(" ".join(str(error).split()))[:LETTERS]
        raise UserError(f"{path} cannot be read as parquet: it is damaged, or another file ({said})") from error


@dataclass(frozen=True, kw_only=True)
class ParquetColumns:
    """An open file.

    A column is named as `text`, or `img.bytes` for a part of one; see `column_type`.
    """

    path: Path
    file: pq.ParquetFile

    @property
    def stated_rows(self) -> int:
        """Number of rows that the file states, which may be wrong."""
        count: int = self.file.metadata.num_rows
        return count

    @property
    def names(self) -> list[str]:
        """The names of the columns, without their parts."""
        return list(self.file.schema_arrow.names)

    def listed(self) -> str:
        """List the columns with their types, for an error."""
        text = ", ".join(f"{field.name} ({field.type})" for field in self.file.schema_arrow)
        return f"it has {visible(' '.join(text.split()))[:LETTERS] or 'none'}"

    def column_type(self, column: str) -> pa.DataType | None:
        """Return the type of a column, or of the part of one, such as `img.bytes`; None: there is none, or several."""
        import pyarrow as pa

        schema = self.file.schema_arrow
        if schema.names.count(column) == 1:
            return schema.field(column).type
        outer, _, inner = column.partition(".")
        if schema.names.count(outer) != 1:
            return None
        whole = schema.field(outer).type
        has = inner and pa.types.is_struct(whole) and whole.get_field_index(inner) >= 0
        return whole.field(inner).type if has else None

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, list[pa.Array]]]:
        """Yield the number of the first row and the values of the columns, a few rows at a time."""
        import pyarrow as pa

        first = 0
        for group in range(self.file.metadata.num_row_groups):
            rows = self._rows_at_once(group, columns)
            for batch in self.file.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False):
                arrays = [batch.column(name if name in self.names else name.partition(".")[0]) for name in columns]
                # Of a struct the named part alone is read; a row without a struct has none of its parts.
                yield first, [array.flatten()[0] if pa.types.is_struct(array.type) else array for array in arrays]
                first += len(batch)

    def _rows_at_once(self, group: int, columns: Sequence[str]) -> int:
        """Choose how many rows are read together, by what the largest one can need."""
        import pyarrow as pa

        facts = self.file.metadata.row_group(group)
        of_largest = 1
        for number in range(facts.num_columns):
            chunk = facts.column(number)
            name = next((name for name in columns if f"{chunk.path_in_schema}.".startswith(f"{name}.")), None)
            if name is None:
                continue
            needed = max(chunk.total_uncompressed_size, VALUE_BYTES * chunk.num_values)
            type_ = self.column_type(name)
            if type_ is not None and pa.types.is_dictionary(type_):  # in memory, too, each text is there once
                needed //= max(facts.num_rows, 1)
            of_largest = max(of_largest, needed)
        return min(max(BATCH_BYTES // of_largest, FEWEST_ROWS), MOST_ROWS)


def is_text(type_: pa.DataType | None) -> bool:
    """Tell whether a type is one of texts or bytes; a dictionary's is that of its values."""
    import pyarrow as pa

    kinds = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    if type_ is not None and pa.types.is_dictionary(type_):
        type_ = type_.value_type
    return type_ is not None and any(getattr(pa.types, f"is_{kind}")(type_) for kind in kinds)


def is_list_of_ids(type_: pa.DataType | None) -> bool:
    """Tell whether a type is one of lists of whole numbers."""
    import pyarrow as pa

    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    if type_ is None or not any(getattr(pa.types, f"is_{kind}")(type_) for kind in kinds):
        return False
    return bool(pa.types.is_integer(type_.value_type))


def content_of(value: pa.Scalar) -> pa.Buffer | None:
    """Return the bytes of a text, which are not copied; None: the row has none."""
    import pyarrow as pa

    if pa.types.is_dictionary(value.type):
        value = value.value if value.is_valid else None
    return None if value is None or not value.is_valid else value.as_buffer()


def numbers_of(value: pa.Scalar) -> np.ndarray | None:
    """Return the numbers of a list; None: the row has no list, or one with a number missing."""
    numbers = value.values if value.is_valid else None
    if numbers is None or numbers.null_count:
        return None
    array: np.ndarray = numbers.to_numpy(zero_copy_only=False)
    return array


def refuse_missing(column: pa.Array, name: str, path: Path, first: int) -> None:
    """Refuse a column of which a row has no value.

    Raises:
        UserError: with the row.
    """
    if column.null_count:
        row = first + int(np.argmax(np.asarray(column.is_null())))
        raise UserError(f"{path}, row {row}: {name} has no value", kind="no_value", key=name, value=row)


def _check_sizes(file: pq.ParquetFile, path: Path) -> None:
    """Refuse a file whose sizes, as it says itself, cannot be."""
    size, metadata = path.stat().st_size, file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    if any(chunk.total_compressed_size > size for chunk in chunks):
        raise UserError(f"{path} says that it has more bytes than its {size:,}; fetch it again")
    if sum(chunk.total_uncompressed_size for chunk in chunks) > MOST_TIMES_LARGER * size + FREE_BYTES:
        raise UserError(f"{path} unpacks to more than {MOST_TIMES_LARGER} times its size")
