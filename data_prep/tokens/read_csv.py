"""Read a CSV file with the columns `tokens` (ids or words, separated by spaces), `label` and optionally `split`."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from data_prep.tokens.table import Table
from lra.types import UserError

NEEDED, OPTIONAL = ("tokens", "label"), ("split",)
MOST_CELL_LETTERS = 1 << 24  # largest number of letters in a cell
MOST_DIGITS = 9  # largest number of digits of an id or a label
WRITTEN_NUMBER = re.compile(r"[+-]?\d+([.]\d*)?(e[+-]?\d+)?", re.IGNORECASE)


def read_csv(path: Path) -> Table:
    """Read the rows of a file in UTF-8 with a header.

    Raises:
        UserError: with the line, when the file is not such a table.
    """
    csv.field_size_limit(MOST_CELL_LETTERS)
    tokens, labels, splits, places = [], [], [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, restkey="more", restval="", strict=True)
            columns = rows.fieldnames or []
            _check_columns(path, list(columns))
            for row in rows:
                place = f"{path}, line {rows.line_num}"
                if "more" in row:
                    raise UserError(f"{place}: {len(columns) + len(row['more'])} cells instead of {len(columns)}")
                tokens.append(row["tokens"].split())
                labels.append(_number(row["label"], place))
                splits.append(row.get("split", ""))
                places.append(place)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    if not labels:
        raise UserError(f"{path} has no row below its header")
    are_ids = all(_is_id(word) for words in tokens for word in words)
    if not are_ids and all(WRITTEN_NUMBER.fullmatch(word) for words in tokens for word in words):
        where = ((place, word) for words, place in zip(tokens, places, strict=True) for word in words)
        place, word = next((place, word) for place, word in where if not _is_id(word))
        raise UserError(f"{place}: {word!r:.60} is no id; ids are whole numbers from 0 to {10**MOST_DIGITS - 1}")
    return Table(
        sequences=[np.trim_zeros(np.array(words, np.int64), "b") for words in tokens] if are_ids else tokens,
        labels=np.array(labels, np.int64),
        splits=splits if "split" in columns else None,
        places=places,
    )


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
