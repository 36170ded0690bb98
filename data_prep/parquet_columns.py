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
FEWEST_ROWS, MOST_ROWS = 2, 1024
STREAM_BYTES = 1 << 20  # of the file that are in memory; without it a whole row group is
MOST_AVERAGE_BYTES = 1 << 25  # of a row, over the rows of a group
PAGE_ROWS, MOST_PAGE_BYTES = 1024, 1 << 28  # a page is in memory as a whole; writers put so many texts at least into it
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
            pre_buffer=False,  # which would read whole row groups, too
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
        """Yield the number of the first row and the values of the columns, a few rows at a time.

        Raises:
            UserError: for rows that need too much memory to be read at all.
        """
        import pyarrow as pa

        first = 0
        for group in range(self.file.metadata.num_row_groups):
            chunks = self._chunks(group, columns)
            self._refuse_large_rows(group, chunks)
            rows = self._rows_at_once(group, chunks)
            for batch in self.file.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False):
                arrays = [batch.column(name if name in self.names else name.partition(".")[0]) for name in columns]
                # Of a struct the named part alone is read; a row without a struct has none of its parts.
                yield first, [array.flatten()[0] if pa.types.is_struct(array.type) else array for array in arrays]
                first += len(batch)

    def _chunks(self, group: int, columns: Sequence[str]) -> list[tuple[str, pq.ColumnChunkMetaData]]:
        """Return what the file says of the columns in a row group, each with the name of its column."""
        facts = self.file.metadata.row_group(group)
        chunks = [facts.column(number) for number in range(facts.num_columns)]
        return [
            (name, chunk) for chunk in chunks for name in columns if f"{chunk.path_in_schema}.".startswith(f"{name}.")
        ]

    def _refuse_large_rows(self, group: int, chunks: list[tuple[str, pq.ColumnChunkMetaData]]) -> None:
        """Refuse rows that need too much memory by what the file says of them, before they are read."""
        rows = max(self.file.metadata.row_group(group).num_rows, 1)
        for name, chunk in chunks:
            average = _unpacked_bytes(chunk) // rows
            page = average * min(rows, PAGE_ROWS) if chunk.physical_type == "BYTE_ARRAY" else 0
            if average > MOST_AVERAGE_BYTES:
                limit = f"at most {MOST_AVERAGE_BYTES:,} are read; cut the rows"
            elif page > MOST_PAGE_BYTES:
                fewer = max(MOST_PAGE_BYTES // average, 1)
                limit = f"too many together; write the file with fewer rows in a group: row_group_size={fewer}"
            else:
                continue
            raise UserError(
                f"{self.path}, row group {group}: {rows:,} rows of {name} of {average:,} bytes on average: {limit}",
                kind="large_rows",
                key=name,
                value=average,
            )

    def _rows_at_once(self, group: int, chunks: list[tuple[str, pq.ColumnChunkMetaData]]) -> int:
        """Choose how many rows are read together, by what the largest one can need."""
        import pyarrow as pa

        rows = max(self.file.metadata.row_group(group).num_rows, 1)
        of_largest = 1
        for name, chunk in chunks:
            # In a column that is a dictionary in memory, too, a text that many rows share is there once.
            is_dictionary = pa.types.is_dictionary(self.column_type(name))
            of_largest = max(of_largest, _unpacked_bytes(chunk) // (rows if is_dictionary else 1))
        return min(max(BATCH_BYTES // of_largest, FEWEST_ROWS), MOST_ROWS)


def _unpacked_bytes(chunk: pq.ColumnChunkMetaData) -> int:
    """Return what the values of a chunk need; numbers of a list that are equal are nearly nothing in the file."""
    return max(int(chunk.total_uncompressed_size), VALUE_BYTES * int(chunk.num_values))


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
