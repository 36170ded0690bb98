"""A table with the rows of a user's file, for all formats: sequences, labels, and optionally splits.

The rows are read from a file one at a time: the disk limits their number, not the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lra.base.printed_commands import command
from lra.data.manifest import SPLITS
from lra.data.store import stratified
from lra.data.tokens import UNKNOWN
from lra.types import TaskSpec, UserError

MOST_FILE_BYTES = 4 << 30
MOST_CELL_BYTES = MOST_ROW_IDS = 1 << 22  # of a text, and of a row that is given as ids: rows are in memory one by one
LARGEST_INT64 = (1 << 63) - 1
MOST_IDS, MOST_CLASSES = 1 << 16, 1 << 8  # the largest numbers that the store's types allow
MOST_LABEL_LETTERS = 1000
MOST_DIGITS = 9  # largest number of digits of an id or a label
TEST_FRACTION, DEV_FRACTION = 0.1, 0.1  # fractions of every label, if the file has no splits
SEED = 0  # seed of these splits
TEXT_COLUMNS = ("tokens", "text", "input_ids")  # the first that a file has is read, unless another one is chosen


class Columns(NamedTuple):
    """The names of the columns that are read: of the tokens, of the labels and, if there is one, of the splits."""

    tokens: str
    label: str
    split: str | None

    @classmethod
    def of(cls, path: Path, names: list[str], chosen: Mapping[str, str] | None) -> Columns:
        """Find the columns among the file's: those that `columns:` of the task names, and for others the usual names.

        Without `columns:` they are `tokens`, `label` and perhaps `split`, and there may be no others.

        Raises:
            UserError: for a column that is missing, there twice, or not known.
        """
        if unknown := [key for key in chosen or {} if key not in cls._fields]:
            raise UserError(f"columns has {unknown[0]!r:.60}; it may have {', '.join(cls._fields)}")
        text = next((name for name in TEXT_COLUMNS if name in names and chosen is not None), TEXT_COLUMNS[0])
        columns = cls(text, "label", "split" if "split" in names else None)._replace(**(chosen or {}))
        needed = [name for name in columns if name is not None]
        if missing := [name for name in needed if name not in names]:
            there = f"its columns, separated by commas, are: {', '.join(names):.200}" if names else "it is empty"
            right = command("new task mine", f"source={path.name}", "text=COLUMN", "label=COLUMN")
            line = f"{path} has no column {' and no '.join(missing)}; {there}; name them as in: {right}"
            raise UserError(line, kind="no_column", key=missing[0], value=names)
        for name in names if chosen is None else needed:
            if name not in needed or names.count(name) > 1:
                raise UserError(f"{path}, line 1: column {name!r:.60} is not known, or twice; write tokens,label,split")
        return columns


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
        tokens: what they are: bytes, characters, words, ids or pixels.
        words: the file's words or characters; None if it has ids.
        columns: the columns that were read, if the file has columns.
        labels: `[rows]`, the place of each row's label in `names` or, where this is None, the number of its class.
        names: the labels of the file, in any order.
        classes: the label of each class, once the labels are numbers of classes; None: the label is that number.
        splits: the split of each row; None if the file has no splits.
        lines: each row's line in the file; None if it has no lines.
    """

    path: Path
    rows: FileRows
    tokens: str
    words: list[str] | None
    columns: Columns | None
    labels: np.ndarray
    names: list[str] | None
    classes: list[str] | None = None
    splits: Sequence[str] | np.ndarray | None
    lines: Sequence[int] | None

    def location(self, row: int) -> str:
        """Word the place of a row for errors, such as `my.csv, line 7`."""
        return f"{self.path}, row {row}" if self.lines is None else f"{self.path}, line {self.lines[row]}"

    def label_of_class(self, number: int) -> str:
        """Return the label that the file has for a class."""
        return str(number) if self.classes is None else self.classes[number]


def is_number(word: str) -> bool:
    """Tell whether a word is a whole number from 0 on, as ids and labels are."""
    return word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS


def wrong_id(location: str, number: int) -> UserError:
    """Make the error of a number that is no id."""
    line = f"{location}: id {number}; ids are whole numbers from 0 to {10**MOST_DIGITS - 1}"
    return UserError(line, kind="wrong_id", value=number)


def check_cell(location: str, size: int) -> None:
    """Refuse a text that is too large to be read.

    Raises:
        UserError: with its size in bytes, and the limit.
    """
    if size > MOST_CELL_BYTES:
        line = (
            f"{location}: a cell of {size:,} bytes, and at most {MOST_CELL_BYTES:,} are read; cut it, or divide the row"
        )
        raise UserError(line, kind="large_cell", value=size, right=MOST_CELL_BYTES)


def check_row_length(location: str, count: int) -> None:
    """Refuse a row of too many ids.

    Raises:
        UserError: with their number, and the limit.
    """
    if count > MOST_ROW_IDS:
        line = f"{location}: a row of {count:,} ids, and at most {MOST_ROW_IDS:,} are read; cut it, or divide the row"
        raise UserError(line, kind="large_cell", value=count, right=MOST_ROW_IDS)


def check_split(location: str, split: object) -> None:
    """Refuse an unknown split.

    Raises:
        UserError: with the split.
    """
    if split not in SPLITS:
        line = f"{location}: split {str(split)!r:.60} is not known; it may be {', '.join(SPLITS)}"
        raise UserError(line, kind="wrong_split", value=split)


def check_rows(table: Table) -> None:
    """Refuse rows without tokens, and unknown splits.

    Raises:
        UserError: with the row.
    """
    for row, split in enumerate([] if table.splits is None else table.splits):
        check_split(table.location(row), split)
    for row, ids in enumerate(table.rows):
        if not len(ids):
            raise UserError(f"{table.location(row)}: no tokens; leave the row out")


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


def with_classes(table: Table, classes: Sequence[object] | None) -> Table:
    """Convert labels to the numbers of classes: places in `classes` or, without it, the whole numbers that they are.

    Raises:
        UserError: with the row, for another label.
    """
    assert table.names is not None
    if classes is None:
        number_of = {name: int(name) for name in table.names if is_number(name)}
    else:
        number_of = {str(name): number for number, name in enumerate(classes)}
    wrong = [number for number, name in enumerate(table.names) if name not in number_of]
    if wrong:
        row = int(np.isin(table.labels, wrong).argmax())
        label = table.names[table.labels[row]]
        right = "labels are whole numbers from 0 on" if classes is None else f"classes has {', '.join(number_of)!s:.60}"
        if_meant = "write a list of all labels to classes: in the task's YAML file if it is meant as a class"
        line = f"{table.location(row)}: label {label!r:.60}; {right}; correct it, leave the row out, or {if_meant}"
        raise UserError(line, kind="wrong_label", key="label", value=label)
    numbers = np.array([number_of[name] for name in table.names])
    words = None if classes is None else list(map(str, classes))
    return replace(table, labels=numbers[table.labels], names=None, classes=words)


def check_trained(table: Table, train: np.ndarray) -> None:
    """Refuse a class without a training example.

    Raises:
        UserError: with the label.
    """
    untrained = np.setdiff1d(np.arange(table.labels.max() + 1), table.labels[train])
    if len(untrained):
        label = table.label_of_class(int(untrained[0]))
        line = (
            f"{table.path}: label {label!r:.60} has no training example; leave its rows out, or give it some of train"
        )
        raise UserError(line, kind="untrained", key="label", value=label)


def check_sizes(table: Table, spec: TaskSpec, settings: dict[str, Any], counts: dict[str, int]) -> None:
    """Refuse numbers in the task's YAML file that do not fit the file; `counts` are the examples of each split.

    Raises:
        UserError: with every number that is wrong, the row that shows it, and the number that would fit.
    """
    lengths, largest = sizes_of_rows(table)
    limits = (("label", table.labels, "num_classes", MOST_CLASSES), ("id", largest, "vocab_size", MOST_IDS))
    for what, values, key, limit in limits:  # of the store's types
        if values.max() >= limit:
            raise UserError(f"{_largest(table, what, values)}; {key} may be at most {limit}")
    classes, vocab, longest = (int(values.max()) for values in (table.labels + 1, largest + 1, lengths))
    most, may_cut = settings.get("max_length"), settings["longer"] == "cut"
    wrong, right = [], {}
    if spec.num_sequences != 1:
        wrong.append(f"num_sequences: {spec.num_sequences}, but a file has one per row")
        right["num_sequences"] = 1
    if spec.num_classes != classes:
        wrong.append(f"num_classes: {spec.num_classes}, but {_largest(table, 'label', table.labels)}")
        right["num_classes"] = classes
    if not vocab <= spec.vocab_size <= MOST_IDS:
        wrong.append(f"vocab_size: {spec.vocab_size}, but {_largest(table, 'id', largest)}")
        right["vocab_size"] = vocab
    if most is None or most > spec.seq_len or (most < longest and not may_cut):
        wrong.append(f"max_length: {most} and seq_len: {spec.seq_len}, but {_largest(table, 'length', lengths)}")
        right |= dict.fromkeys(("max_length", "seq_len"), most if most and may_cut else longest)
    for split in SPLITS:
        if split in settings and settings[split] != counts.get(split, 0):
            wrong.append(f"{split}: {settings[split]}, but the file has {counts.get(split, 0)}")
            right[split] = counts.get(split, 0)
    if wrong:
        write = ", ".join(f"{key}: {value}" for key, value in right.items())
        or_cut = " (or longer: cut)" if "max_length" in right and not may_cut else ""
        line = f"{table.path} does not fit task={spec.name}, which has {'; '.join(wrong)}; write {write}{or_cut}"
        raise UserError(line, kind="wrong_sizes", key=spec.name, right=right)


def sizes_of_rows(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Measure the length and the largest id of each row.

    Raises:
        UserError: for a row with a negative id.
    """
    of_each_row = ((len(ids), ids.max(), ids.min()) for ids in table.rows)
    lengths, largest, smallest = np.fromiter(of_each_row, np.dtype((np.int64, 3)), len(table.rows)).T
    if smallest.min() < 0:
        raise wrong_id(table.location(int(smallest.argmin())), int(smallest.min()))
    return lengths, largest


def _largest(table: Table, what: str, values: np.ndarray) -> str:
    largest = table.label_of_class(int(values.max())) if what == "label" else str(values.max())
    return f"{table.location(int(values.argmax()))} has {what} {largest:.60}"
