"""Write the rows of a TFDS dataset in the order in which they were made.

TFDS collects the rows of a split in a `Shuffler`, even for a dataset that keeps its order. It does so in memory, and
beyond 1 GB with TensorFlow's file system, which this project does not use. `InOrder` has only one row in memory.
"""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

HEAD = struct.Struct("=QQ")  # key of a row, and its number of bytes


class InOrder:
    """Has the interface of TFDS's `Shuffler`, but does not shuffle.

    Args:
        dirpath: folder for a temporary file with the rows.
        ignored: arguments that only a shuffler needs.
    """

    def __init__(self, dirpath: str | Path, **ignored: object):
        self._file = tempfile.TemporaryFile(dir=dirpath)  # noqa: SIM115  open until the rows are written
        self.size = self.num_examples = 0

    @property
    def bucket_lengths(self) -> list[int]:
        """Number of rows in each bucket; there is one bucket."""
        return [self.num_examples]

    def add(self, key: int, data: bytes) -> None:
        """Append a row."""
        self._file.write(HEAD.pack(key, len(data)))
        self._file.write(data)
        self.size += len(data)
        self.num_examples += 1

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the rows; this is possible only once."""
        self._file.seek(0)
        while head := self._file.read(HEAD.size):
            key, length = HEAD.unpack(head)
            yield key, self._file.read(length)
        self._file.close()


@contextlib.contextmanager
def rows_in_order() -> Iterator[None]:
    """Within this context, TFDS uses `InOrder` in place of its `Shuffler`."""
    from tensorflow_datasets.core import shuffle

    theirs, shuffle.Shuffler = shuffle.Shuffler, InOrder
    try:
        yield
    finally:
        shuffle.Shuffler = theirs
