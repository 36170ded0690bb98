"""Read a CSV file with the columns `tokens` (ids or words, separated by spaces), `label` and optionally `split`."""

from __future__ import annotations

import csv
import re
import sys
from array import array
from pathlib import Path

import numpy as np

from data_prep.tokens.table import FileRows, Table
from lra.types import UserError

NEEDED, OPTIONAL = ("tokens", "label"), ("split",)
MOST_CELL_LETTERS = 1 << 24  # largest number of letters in a cell
MOST_DIGITS = 9  # largest number of digits of an id or a label
WRITTEN_NUMBER = re.compile(r"[+-]?\d+([.]\d*)?(e[+-]?\d+)?", re.IGNORECASE)


def read_csv(path: Path, scratch: Path) -> Table:
    """Read the rows of a file in UTF-8 with a header; their tokens are kept in a file in `scratch`.

    Raises:
        UserError: with the line, when the file is not such a table.
    """
    csv.field_size_limit(MOST_CELL_LETTERS)
    numbers: dict[str, int] = {}  # of every token that was met
    offsets, lines, labels, splits = array("q", [0]), array("q"), array("q"), []
    kept = scratch / "tokens.raw"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file, kept.open("wb") as tokens:
            rows = csv.DictReader(file, restkey="more", restval="", strict=True)
            columns = rows.fieldnames or []
            _check_columns(path, list(columns))
            for row in rows:
                place = f"{path}, line {rows.line_num}"
                if "more" in row:
                    raise UserError(f"{place}: {len(columns) + len(row['more'])} cells instead of {len(columns)}")
                of_row = array("I", [numbers.setdefault(word, len(numbers)) for word in row["tokens"].split()])
                of_row.tofile(tokens)
                offsets.append(offsets[-1] + len(of_row))
                labels.append(_number(row["label"], place))
                splits.append(sys.intern(row.get("split", "")))
                lines.append(rows.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    if not labels:
        raise UserError(f"{path} has no row below its header")
    words = list(numbers)
    are_ids = all(map(_is_id, words))
    table = Table(
        path=path,
        rows=FileRows(
            path=kept,
            dtype=np.dtype(np.uintc),
            first_byte=0,
            offsets=np.array(offsets),
            ids=np.array([int(word) for word in words], np.int64) if are_ids else None,
            padded=are_ids,
        ),
        words=None if are_ids else words,
        labels=np.array(labels),
        splits=splits if "split" in columns else None,
        lines=lines,
    )
    if not are_ids and all(map(WRITTEN_NUMBER.fullmatch, words)):
        wrong = next(number for number, word in enumerate(words) if not _is_id(word))
        place = next(table.place(row) for row, of_row in enumerate(table.rows) if wrong in of_row)
        raise UserError(
            f"{place}: {words[wrong]!r:.60} is no id; ids are whole numbers from 0 to {10**MOST_DIGITS - 1}"
        )
    return table


def _is_id(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS


def _check_columns(path: Path, columns: list[str]) -> None:
    for name in NEEDED:
        if name not in columns:
            raise UserError(f"{path}, line 1: no column {name}; the header is {','.join(columns)!r:.80}")
    for name in columns:
        if name not in NEEDED + OPTIONAL or columns.count(name) > 1:
            raise UserError(f"{path}, line 1: column {name!r:.60} is not known, or twice; write tokens,label,split")


def _number(cell: str, place: str) -> int:
    text = cell.strip()
    if not _is_id(text):
        raise UserError(f"{place}: label {cell!r:.60}; labels are whole numbers from 0 on")
    return int(text)
