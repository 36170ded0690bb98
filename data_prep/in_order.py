"""TFDS datasets whose rows stay in the order in which they were made.

TFDS gathers a split's rows in a `Shuffler`, even for a dataset that keeps its order: in memory, and beyond 1 GB through
TensorFlow's file system, which this project does without. This one holds a row at a time, whatever the split's size.
"""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

HEAD = struct.Struct("=QQ")  # key, and bytes of the row


class InOrder:
    """TFDS's `Shuffler` interface, without any shuffling.

    Args:
        dirpath: where the file lies until it is written to the dataset; the system removes it.
        ignored: what only a shuffler needs.
    """

    def __init__(self, dirpath: str | Path, **ignored: object):
        self._file = tempfile.TemporaryFile(dir=dirpath)  # noqa: SIM115  open until the rows are written
        self.size = self.num_examples = 0

    @property
    def bucket_lengths(self) -> list[int]:
        """Rows per bucket; there is one."""
        return [self.num_examples]

    def add(self, key: int, data: bytes) -> None:
        """Append a row."""
        self._file.write(HEAD.pack(key, len(data)))
        self._file.write(data)
        self.size += len(data)
        self.num_examples += 1

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """The rows, once."""
        self._file.seek(0)
        while head := self._file.read(HEAD.size):
            key, length = HEAD.unpack(head)
            yield key, self._file.read(length)
        self._file.close()


@contextlib.contextmanager
def rows_in_order() -> Iterator[None]:
    """Inside this block, TFDS writes rows by `InOrder`."""
    from tensorflow_datasets.core import shuffle

    theirs, shuffle.Shuffler = shuffle.Shuffler, InOrder
    try:
        yield
    finally:
        shuffle.Shuffler = theirs
