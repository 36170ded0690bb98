"""Read the benchmark's ListOps files, `basic_{train,val,test}.tsv`: a header, then expression and value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from data_prep.listops.evaluation import evaluate_rows
from lra.data.listops import encode
from lra.types import UserError

FILES = {"train": "basic_train.tsv", "dev": "basic_val.tsv", "test": "basic_test.tsv"}
HEADER = [b"Source", b"Target"]
LONGEST_LINE_BYTES = 1 << 20
ROWS_AT_ONCE = 256  # large enough to use numpy well, small enough to stay in cache


def find(folder: Path) -> dict[str, Path]:
    """Find the three files in `folder`, by split.

    Raises:
        UserError: when a file is missing.
    """
    for name in FILES.values():
        if not (folder / name).is_file():
            raise UserError(f"{folder} has no {name}; source= wants the folder that holds {', '.join(FILES.values())}")
    return {split: folder / name for split, name in FILES.items()}


def count(path: Path) -> int:
    """Count the rows of a file without checking them."""
    return max(sum(1 for _ in _lines(path)) - 1, 0)


def read(path: Path, *, max_length: int, size: str) -> Iterator[tuple[str, int]]:
    """Yield expression and value of each row, and check that the expression has this value.

    Args:
        path: the file.
        max_length: largest number of tokens; a longer expression is refused, because a part of it has another value.
        size: the value of `size=`, for the error.

    Raises:
        UserError: with file and line, for a row that is not `expression⇥value` in known tokens, that has a wrong value,
            or that is too long.
    """
    numbered = enumerate(encoded(path), start=2)
    while chunk := list(itertools.islice(numbered, ROWS_AT_ONCE)):
        for number, (_, ids, _) in chunk:
            if len(ids) > max_length:
                raise UserError(
                    f"{path}, line {number}: {len(ids):,} tokens, but size={size} holds {max_length:,}, and a part of"
                    " an expression has another value; type size=full, or source=generate"
                )
        values, faults = evaluate_rows([ids for _, (_, ids, _) in chunk])
        for i, (number, (source, _, target)) in enumerate(chunk):
            if i in faults:
                raise UserError(f"{path}, line {number}: no expression, {faults[i]}")
            if target != values[i]:
                raise UserError(f"{path}, line {number}: the value is {target}, but the expression's is {values[i]}")
            yield source, target


def encoded(path: Path) -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield the expression, its token ids and the stated value of each row.

    Raises:
        UserError: with file and line, for a row that is not `expression⇥digit` in known tokens.
    """
    for number, line in enumerate(_lines(path), start=1):
        where = f"{path}, line {number}"
        cells = line.rstrip(b"\r\n").split(b"\t")
        if len(cells) != 2:
            raise UserError(f"{where}: {len(cells)} columns instead of 2 (expression, tab, value)")
        if number == 1:
            if cells != HEADER:
                raise UserError(f"{where}: the header is {_text(line)!r}, not 'Source⇥Target'; is this a ListOps file?")
            continue
        source, target = cells
        if len(target) != 1 or not target.isdigit():
            raise UserError(f"{where}: the value is {_text(target)!r} instead of a digit 0 to 9")
        try:
            ids = encode(source)
        except UserError as error:
            raise UserError(f"{where}: {error}") from error
        yield source.decode(), ids, int(target)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE_BYTES + 1), b""), start=1):
            if len(line) > LONGEST_LINE_BYTES:
                where = f"{path}, line {number}"
                raise UserError(f"{where}: more than {LONGEST_LINE_BYTES:,} bytes; is this a ListOps file?")
            yield line


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\r\n").decode(errors="replace")[:60]
