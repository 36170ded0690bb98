"""Rows of numbers in a file, read one at a time: the disk limits their number, not the memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class FileRows:
    """Rows in a file, one after the other.

    Attributes:
        path: the file.
        dtype: type of its numbers.
        first_byte: where the first row begins.
        offsets: `[rows + 1]`, where each row begins, in numbers, and where the last one ends.
        ids: `[n]`, the ids that the numbers 0 to n - 1 of the file stand for; None: the numbers are ids.
        padded: whether zeros at the end of a row are padding.
    """

    path: Path
    dtype: np.dtype
    first_byte: int
    offsets: np.ndarray
    ids: np.ndarray | None
    padded: bool

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def read(self, numbers: Iterable[int]) -> Iterator[np.ndarray]:
        """Yield the ids of the rows with these numbers without their padding, int64."""
        size = self.dtype.itemsize
        with self.path.open("rb") as file:
            for number in numbers:
                begin, end = self.offsets[number : number + 2].tolist()
                file.seek(self.first_byte + begin * size)
                row = np.frombuffer(file.read((end - begin) * size), self.dtype)
                row = row.astype(np.int64) if self.ids is None else self.ids[row]
                yield np.trim_zeros(row, "b") if self.padded else row

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the ids of all rows."""
        return self.read(range(len(self)))
