"""Read a benchmark task from parquet files of the Hugging Face hub; `parquet_files` finds them in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data_prep.archives import FREE_BYTES, MOST_TIMES_LARGER
from data_prep.parquet_columns import ParquetColumns, content_of, is_text, opened, refuse_missing
from data_prep.parquet_files import SNAPSHOTS, files_of_splits
from data_prep.source import Request, determine_origin
from lra.base.files import sha256
from lra.types import UserError

if TYPE_CHECKING:  # loading it takes half a second, and other forms do not need it
    import pyarrow as pa

LABEL = "label"
LARGEST_BYTES = 1 << 20  # of a text or an image
Row = tuple[str, bytes, int]  # where it stands, its content, its label


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """The parquet files of a task.

    `files` are those of each split, in order, all in `folder`; `column` is that of the content, such as `text` or
    `img.bytes`.
    """

    request: Request
    folder: Path
    files: dict[str, list[Path]]
    column: str

    @classmethod
    def open(cls, request: Request, path: Path, dataset: str, splits: tuple[str, ...], column: str) -> Parquet:
        """Find the files of the splits; arguments and errors are those of `files_of_splits`."""
        folder, files = files_of_splits(path, dataset, splits)
        return cls(request=request, folder=folder, files=files, column=column)

    def rows(self, split: str) -> Iterator[Row]:
        """Yield the rows of a split, in the order of the files.

        Raises:
            UserError: with file and row, for a file that is damaged or too large, or a row of another form.
        """
        for path in self.files[split]:
            number = unpacked_bytes = 0
            allowed_bytes = MOST_TIMES_LARGER * path.stat().st_size + FREE_BYTES
            with opened(path) as file:
                self._check(file)
                for first, (contents, labels) in file.batches([self.column, LABEL]):
                    self.request.tick(number, file.stated_rows)
                    refuse_missing(contents, self.column, path, first)
                    for content, label in zip(contents, self._labels(path, first, labels), strict=True):
                        raw = self._content(content, f"{path}, row {number}")
                        unpacked_bytes += len(raw)
                        if unpacked_bytes > allowed_bytes:
                            raise UserError(f"{path} unpacks to more than {MOST_TIMES_LARGER} times its size")
                        yield f"{path}, row {number}", raw, label
                        number += 1
                if number != file.stated_rows:
                    raise UserError(f"{path} has {number:,} rows and says {file.stated_rows:,}; fetch it again")

    def origin(self, benchmark: dict[str, int]) -> tuple[str, dict[str, object]]:
        """Decide the origin and collect facts, as `determine_origin` does; the revision too, if the cache names it.

        The numbers of rows are those that the files state; `rows` checks them.
        """
        counts = dict.fromkeys(self.files, 0)
        for split, part in self.files.items():
            for path in part:
                with opened(path) as file:
                    self._check(file)
                    counts[split] += file.stated_rows
        origin, facts = determine_origin(self.request, self.folder, (), counts, benchmark)
        facts["files"] = self._hashes()
        folders = (self.folder, *self.folder.parents)
        revision = next((folder.name for folder in folders if folder.parent.name == SNAPSHOTS), None)
        return origin, facts | ({"revision": revision} if revision else {})

    def _hashes(self) -> dict[str, str]:
        """Compute the hash of each file, by its name, with the split before it where files of both have one name."""
        how_often = Counter(file.name for part in self.files.values() for file in part)
        return {
            file.name if how_often[file.name] == 1 else f"{split}/{file.name}": sha256(file)
            for split, part in self.files.items()
            for file in part
        }

    def _check(self, file: ParquetColumns) -> None:
        """Refuse a file with other columns."""
        import pyarrow as pa

        if not is_text(file.column_type(self.column)):
            what = "images" if "." in self.column else "texts"
            raise UserError(f"{file.path} has no column {self.column} of {what}: {file.listed()}")
        label = file.column_type(LABEL)
        if label is None or not pa.types.is_integer(label):
            raise UserError(f"{file.path} has no column {LABEL} of whole numbers: {file.listed()}")

    def _content(self, value: pa.Scalar, location: str) -> bytes:
        content = content_of(value)
        if content is None:  # in a dictionary a value may be missing that no row says is missing
            raise UserError(f"{location}: {self.column} has no value", kind="no_value", key=self.column)
        if content.size > LARGEST_BYTES:
            line = f"{location}: {self.column} has {content.size:,} bytes, at most {LARGEST_BYTES:,} are read"
            raise UserError(line, kind="large_cell", key=self.column, value=content.size, right=LARGEST_BYTES)
        raw: bytes = content.to_pybytes()
        return raw

    def _labels(self, path: Path, first: int, column: pa.Array) -> list[int]:
        classes = self.request.spec.num_classes
        refuse_missing(column, LABEL, path, first)
        labels = np.asarray(column)
        wrong = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(wrong):
            where = f"{path}, row {first + wrong[0]}"
            raise UserError(f"{where}: the label is {labels[wrong[0]]} instead of 0 to {classes - 1}")
        return [int(label) for label in labels]
