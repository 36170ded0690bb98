"""Collect a file's rows: their tokens go to one file of numbers, so that the rows are never in memory together."""

from __future__ import annotations

import re
import sys
from array import array
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from data_prep.tokens.table import (
    MOST_CLASSES,
    MOST_DIGITS,
    MOST_LABEL_LETTERS,
    TEXT_COLUMNS,
    Columns,
    FileRows,
    Table,
    check_cell,
    check_row_length,
    check_split,
    is_number,
)
from lra.types import UserError

PIXELS = "pixels"
TOKENS = ("bytes", "characters", "words", "ids", PIXELS)  # what a task's tokens are: the values of `tokens:`
WRITTEN_NUMBER = re.compile(r"[+-]?\d+([.]\d*)?(e[+-]?\d+)?", re.IGNORECASE)
BYTE_IDS = np.arange(1, 257)  # id 0 is padding
MOST_VOCABULARY_BYTES = 1 << 28  # of memory, for all different words of a file
ENTRY_BYTES = 100  # about what a word needs in memory beside its letters


class Rows:
    """The rows of one file, added one by one; a context, because it has a file open.

    Args:
        path: the file that they come from.
        scratch: folder for the file of numbers.
        tokens: one of TOKENS; None: bytes of a text, but of a column `tokens` words, or ids if all words are ids.
        columns: the file's columns, if it has any.
    """

    def __init__(self, path: Path, scratch: Path, tokens: str | None, columns: Columns | None):
        if columns is not None and tokens in (None, PIXELS):  # `read_table` refuses pixels of a table
            tokens = None if columns.tokens == TEXT_COLUMNS[0] else "bytes"
        self.path, self.tokens, self.columns, self._kept = path, tokens, columns, scratch / "tokens.raw"
        self._numbers: dict[str, int] = {}  # of every word or character that was met
        self._vocabulary_bytes = 0
        self._names: dict[str, int] = {}  # of every label that was met
        self._offsets, self._labels, self._lines = array("q", [0]), array("q"), array("q")
        self._splits: list[str] = []
        self._dtype: np.dtype | None = None  # of ids that are given as numbers, not as text

    def __enter__(self) -> Rows:
        self._file = self._kept.open("wb")
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._labels)

    def add(self, tokens: str | np.ndarray | None, label: str, split: str | None, line: int | None = None) -> None:
        """Add a row: its text or an array of its ids, its label, its split and its line, if the file has these.

        Raises:
            UserError: for other tokens, and for what would need too much memory.
        """
        location = f"{self.path}, row {len(self)}" if line is None else f"{self.path}, line {line}"
        if isinstance(tokens, np.ndarray) and (self._dtype is not None or not len(self)):
            check_row_length(location, len(tokens))
            numbers, self._dtype = tokens, tokens.dtype
        elif not isinstance(tokens, str) or self._dtype is not None:
            raise UserError(f"{location}: {tokens!r:.60} is no text, and no list of ids as others are", kind="no_text")
        else:
            numbers = self._numbers_of(tokens, location)
        self._file.write(np.ascontiguousarray(numbers).data)
        self._offsets.append(self._offsets[-1] + len(numbers))
        self._labels.append(self._number_of_label(label, location))
        if split is not None:
            check_split(location, split)
            self._splits.append(sys.intern(split))
        if line is not None:
            self._lines.append(line)

    def _numbers_of(self, text: str, location: str) -> np.ndarray:
        """Convert a text to the values of its bytes, or to the numbers of its words or characters."""
        content = text.encode()
        check_cell(location, len(content))
        if self.tokens == "bytes":
            return np.frombuffer(content, np.uint8)
        words = text if self.tokens == "characters" else text.split()
        of_word, before = self._numbers, len(self._numbers)
        numbers = np.fromiter((of_word.setdefault(word, len(of_word)) for word in words), np.uintc, len(words))
        new = len(of_word) - before
        self._vocabulary_bytes += ENTRY_BYTES * new + sum(map(len, islice(reversed(of_word), new)))
        if self._vocabulary_bytes > MOST_VOCABULARY_BYTES:
            raise UserError(
                f"{location}: up to here {len(of_word):,} different words, whose memory is above the limit of"
                f" {MOST_VOCABULARY_BYTES:,} bytes; type tokens=bytes or tokens=characters",
                kind="many_words",
                key="tokens",
                right=MOST_VOCABULARY_BYTES,
            )
        return numbers

    def _number_of_label(self, label: str, location: str) -> int:
        """Return the place of a label in the list of all that were met."""
        if len(label) > MOST_LABEL_LETTERS:
            line = f"{location}: a label of {len(label):,} letters, and at most {MOST_LABEL_LETTERS:,} are read"
            raise UserError(line, kind="wrong_label", key="label", value=len(label), right=MOST_LABEL_LETTERS)
        number = self._names.setdefault(label, len(self._names))
        if number >= MOST_CLASSES:
            line = (
                f"{location}: more than {MOST_CLASSES} different labels up to here;"
                f" a task has 2 to {MOST_CLASSES} classes"
            )
            raise UserError(line, kind="classes", key="label", right=MOST_CLASSES)
        return number

    def table(self) -> Table:
        """Make the table of all rows.

        Raises:
            UserError: when there is no row, and for a word among ids.
        """
        if not len(self):
            raise UserError(f"{self.path} has no row")
        kind = self.tokens or ("ids" if all(map(WRITTEN_NUMBER.fullmatch, self._numbers)) else "words")
        if self._dtype is not None:
            kind = PIXELS if kind == PIXELS else "ids"
        table = Table(
            path=self.path,
            rows=FileRows(
                path=self._kept,
                dtype=self._dtype or np.dtype(np.uint8 if kind == "bytes" else np.uintc),
                first_byte=0,
                offsets=np.array(self._offsets),
                ids=BYTE_IDS if kind == "bytes" else None,
                padded=kind == "ids" and self._dtype is not None,
            ),
            tokens=kind,
            words=None if self._dtype or kind == "bytes" else list(self._numbers),
            columns=self.columns,
            labels=np.array(self._labels),
            names=list(self._names),
            splits=self._splits or None,
            lines=self._lines or None,
        )
        if table.words is None or kind != "ids":
            return table
        wrong = next((number for number, word in enumerate(table.words) if not is_number(word)), None)
        if wrong is not None:
            location = next(table.location(row) for row, numbers in enumerate(table.rows) if wrong in numbers)
            raise UserError(
                f"{location}: {table.words[wrong]!r:.60} is no id;"
                f" ids are whole numbers from 0 to {10**MOST_DIGITS - 1}"
            )
        ids = np.array([int(word) for word in table.words], np.int64)
        return replace(table, rows=replace(table.rows, ids=ids, padded=True), words=None)
