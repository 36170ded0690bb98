"""A table with the rows of a user's file, for all formats: sequences, labels, and optionally splits.

The rows are read from a file one at a time: the disk limits their number, not the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lra.data.manifest import SPLITS
from lra.data.store import stratified
from lra.data.tokens import UNKNOWN
from lra.types import TaskSpec, UserError

MOST_FILE_BYTES = 4 << 30
MOST_IDS, MOST_CLASSES = 1 << 16, 1 << 8  # the largest numbers that the store's types allow
TEST_FRACTION, DEV_FRACTION = 0.1, 0.1  # fractions of every label, if the file has no splits
SEED = 0  # seed of these splits


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


@dataclass(frozen=True, kw_only=True)
class Table:
    """The rows of a file.

    Attributes:
        path: the file.
        rows: each row's ids or, if the file has words, their numbers in `words`.
        words: the file's words; None if it has ids.
        labels: `[rows]`.
        splits: the split of each row; None if the file has no splits.
        lines: each row's line in the file; None if it has no lines.
    """

    path: Path
    rows: FileRows
    words: list[str] | None
    labels: np.ndarray
    splits: Sequence[str] | np.ndarray | None
    lines: Sequence[int] | None

    def place(self, row: int) -> str:
        """Word the place of a row for errors, such as `my.csv, line 7`."""
        return f"{self.path}, row {row}" if self.lines is None else f"{self.path}, line {self.lines[row]}"


def check_rows(table: Table) -> None:
    """Refuse rows without tokens, and unknown splits.

    Raises:
        UserError: with the row.
    """
    for row, split in enumerate([] if table.splits is None else table.splits):
        if split not in SPLITS:
            raise UserError(f"{table.place(row)}: split {str(split)!r:.60} is not known; it may be {', '.join(SPLITS)}")
    for row, ids in enumerate(table.rows):
        if not len(ids):
            raise UserError(f"{table.place(row)}: no tokens; leave the row out")


def split_rows(table: Table) -> dict[str, np.ndarray]:
    """Choose the rows of each split, and return their numbers.

    If the file has no splits, a tenth of every label is for test and a tenth for dev.

    Raises:
        UserError: when train or test would be empty.
    """
    if table.splits is None:
        rest, test = stratified(table.labels, TEST_FRACTION, SEED)
        train, dev = stratified(table.labels[rest], DEV_FRACTION / (1 - TEST_FRACTION), SEED)
        numbers = {"train": rest[train], "dev": rest[dev], "test": test}
    else:
        split_of_row = np.array(table.splits)
        numbers = {name: np.flatnonzero(split_of_row == name) for name in SPLITS}
    for name in SPLITS if table.splits is None else ("train", "test"):
        if not len(numbers[name]):
            raise UserError(
                f"{table.path}: no row of its {len(table.labels)} is for {name}; name the split"
                f" of each row: {', '.join(SPLITS)}"
            )
    return {name: part for name, part in numbers.items() if len(part)}


def with_ids(table: Table, train: np.ndarray) -> tuple[Table, list[str] | None]:
    """Convert words to ids, by their frequency in the training rows; ids are not changed.

    Returns:
        The table, and the vocabulary, or None if the rows have ids. Id k is word k - 1 of the vocabulary; its first
        word stands for all unknown words.
    """
    if table.words is None:
        return table, None
    words, counts = table.words, np.zeros(len(table.words), np.int64)
    for numbers in table.rows.read(train.tolist()):
        np.add.at(counts, numbers, 1)
    known = [number for number, word in enumerate(words) if counts[number] and word != UNKNOWN]
    known.sort(key=lambda number: (-counts[number], words[number]))
    ids = np.ones(len(words), np.int64)
    ids[known] = np.arange(2, len(known) + 2)
    vocabulary = [UNKNOWN, *(words[number] for number in known)]
    return replace(table, rows=replace(table.rows, ids=ids), words=None), vocabulary


def check_sizes(table: Table, spec: TaskSpec, settings: dict[str, Any]) -> None:
    """Refuse a file that does not fit the sizes in the task's settings.

    Raises:
        UserError: with the row, and the size that would fit.
    """
    if spec.num_sequences != 1:
        raise UserError(f"task {spec.name}: num_sequences: {spec.num_sequences}, but a file has one per row; write 1")
    _check_settings(spec, settings)
    _check(table, "label", table.labels, spec.num_classes, "num_classes", MOST_CLASSES)
    if table.labels.max() + 1 < spec.num_classes:
        raise UserError(
            f"task {spec.name}: the file has labels 0 to {table.labels.max()}, but num_classes: {spec.num_classes};"
            f" write num_classes: {table.labels.max() + 1}"
        )
    of_each_row = ((ids.max(), ids.min(), len(ids)) for ids in table.rows)
    largest, smallest, lengths = np.fromiter(of_each_row, np.dtype((np.int64, 3)), len(table.rows)).T
    _check(table, "id", largest, spec.vocab_size, "vocab_size", MOST_IDS)
    _check(table, "id", smallest, spec.vocab_size, "vocab_size", MOST_IDS)
    longest, most = int(lengths.max()), settings["max_length"]
    if longest > most and settings["longer"] != "cut":
        raise UserError(
            f"{table.place(int(lengths.argmax()))}: {longest} tokens, but max_length: {most}; write seq_len: {longest}"
            f" and max_length: {longest}, or longer: cut"
        )


def _check_settings(spec: TaskSpec, settings: dict[str, Any]) -> None:
    """Refuse sizes that the store cannot hold, or that the model would cut."""
    for key, size, most in (("vocab_size", spec.vocab_size, MOST_IDS), ("num_classes", spec.num_classes, MOST_CLASSES)):
        if size > most:
            raise UserError(f"task {spec.name}: {key}: {size:,}; it may be at most {most:,}")
    longest = settings.get("max_length")
    if longest is None:
        raise UserError(f"task {spec.name} has no max_length in its sizes; write max_length: {spec.seq_len}")
    if longest > spec.seq_len:
        raise UserError(
            f"task {spec.name}: max_length: {longest} is more than its spec's seq_len: {spec.seq_len}, the longest that"
            f" the model takes; write max_length: {spec.seq_len}, or seq_len: {longest}"
        )


def _check(table: Table, what: str, values: np.ndarray, size: int, key: str, most: int) -> None:
    """Check that all values are in 0 .. size - 1."""
    wrong = np.flatnonzero((values < 0) | (values >= size))
    if not len(wrong):
        return
    place, value, largest = table.place(wrong[0]), values[wrong[0]], int(values.max())
    if values.min() < 0:
        place, value = table.place(int(values.argmin())), values.min()
        raise UserError(f"{place}: {what} {value}; {what}s are whole numbers from 0 on")
    if largest >= most:
        raise UserError(f"{table.place(int(values.argmax()))}: {what} {largest}; {key} may be at most {most}")
    raise UserError(
        f"{place}: {what} {value}, but {key}: {size} has {what}s 0 to {size - 1}; write {key}: {largest + 1}"
    )
