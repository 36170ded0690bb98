"""Read an NPZ file with the arrays `tokens`, `labels` and optionally `split`.

`tokens` is `[N, L]` with 0 as padding, or `[T]` with `offsets` `[N + 1]`; `labels` and `split` are `[N]`.

Letters: N examples, L positions, T tokens of all examples.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from data_prep.tokens.table import MOST_FILE_BYTES, Table
from lra.types import UserError

NEEDED, OPTIONAL = ("tokens", "labels"), ("offsets", "split")


def read_npz(path: Path) -> Table:
    """Read the rows of a file.

    Raises:
        UserError: with the array or the row, when the file is not such a table.
    """
    arrays = _arrays(path)
    tokens, labels = arrays["tokens"], arrays["labels"]
    for name in ("tokens", "labels", *(["offsets"] if "offsets" in arrays else [])):
        if arrays[name].dtype.kind not in "iu":
            raise UserError(f"{path}: {name} holds {arrays[name].dtype}, not whole numbers")
    if labels.ndim != 1 or not len(labels):
        raise UserError(f"{path}: labels has shape {list(labels.shape)}; it must be [N] with one label per example")
    split = arrays.get("split")
    if split is not None and (split.dtype.kind != "U" or split.shape != labels.shape):
        raise UserError(f"{path}: split is {split.dtype} {list(split.shape)}; it must be {len(labels)} words")
    offsets = arrays.get("offsets")
    rows = _square(path, tokens, len(labels)) if offsets is None else _ragged(path, tokens, offsets, len(labels))
    return Table(
        sequences=[row.astype(np.int64) for row in rows],
        labels=labels.astype(np.int64),
        splits=None if split is None else split.tolist(),
        places=[f"{path}, row {number}" for number in range(len(labels))],
    )


# What zipfile and numpy raise for a forged or damaged file.
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError, MemoryError, OverflowError,
    TypeError, tokenize.TokenError,
)  # fmt: skip


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of the file without unpickling anything."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MOST_FILE_BYTES:
            raise UserError(f"{path} unpacks to {size:,} bytes, more than {MOST_FILE_BYTES:,}")
        with np.load(path, allow_pickle=False) as file:
            for name in file.files:
                if name not in NEEDED + OPTIONAL:
                    raise UserError(
                        f"{path}: array {name!r:.60} is not known; there may be tokens, offsets, labels, split"
                    )
            arrays = {name: file[name] for name in file.files}
    except UNREADABLE as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} cannot be read as NPZ: {' '.join(str(error).split())}") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # numpy returns other content as bytes
            raise UserError(f"{path}: {name} is no array; write the file with numpy.savez")
    for name in NEEDED:
        if name not in arrays:
            raise UserError(f"{path} has no array {name}; it has {', '.join(arrays) or 'none'}")
    return arrays


def _square(path: Path, tokens: np.ndarray, count: int) -> list[np.ndarray]:
    """Remove the padding at the end of each row."""
    if tokens.ndim != 2 or len(tokens) != count:
        raise UserError(
            f"{path}: tokens has shape {list(tokens.shape)}; it must be [{count}, L] beside {count} labels,"
            " or [T] with offsets"
        )
    return [np.trim_zeros(row, "b") for row in tokens]


def _ragged(path: Path, tokens: np.ndarray, offsets: np.ndarray, count: int) -> list[np.ndarray]:
    right = tokens.ndim == 1 and offsets.shape == (count + 1,)
    if not right or offsets[0] != 0 or offsets[-1] != len(tokens) or (offsets[1:] < offsets[:-1]).any():
        raise UserError(
            f"{path}: offsets has shape {list(offsets.shape)} beside tokens {list(tokens.shape)}; it must be"
            f" [{count + 1}], rising from 0 to the number of tokens"
        )
    return np.split(tokens, offsets[1:-1].astype(np.int64))
