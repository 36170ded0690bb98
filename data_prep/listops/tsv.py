"""The benchmark's own ListOps files, `basic_{train,val,test}.tsv`: a header, then expression and value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from data_prep.listops.values import evaluate_rows
from lra.data.listops import encode
from lra.types import UserError

FILES = {"train": "basic_train.tsv", "dev": "basic_val.tsv", "test": "basic_test.tsv"}
HEADER = [b"Source", b"Target"]
LONGEST_LINE_BYTES = 1 << 20
ROWS_AT_ONCE = 256  # enough to keep numpy busy, few enough to stay in cache


def find(folder: Path) -> dict[str, Path]:
    """The three files in `folder`, by split.

    Raises:
        UserError: when one is missing.
    """
    for name in FILES.values():
        if not (folder / name).is_file():
            raise UserError(f"{folder} has no {name}; source= wants the folder that holds {', '.join(FILES.values())}")
    return {split: folder / name for split, name in FILES.items()}


def count(path: Path) -> int:
    """Number of rows, none of them looked at."""
    return max(sum(1 for _ in _lines(path)) - 1, 0)


def read(path: Path, *, max_length: int, size: str) -> Iterator[tuple[str, int]]:
    """Expression and value of each row; the value is what the expression evaluates to.

    Args:
        path: the file.
        max_length: an expression with more tokens is refused: a part of it has another value.
        size: what `size=` was, for that refusal.

    Raises:
        UserError: with file and line, for a row that is not `expression⇥value` in known tokens, or is too long.
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
    """Expression, its token ids and the value that stands beside it, of each row.

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
