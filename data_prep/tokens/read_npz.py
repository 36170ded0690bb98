"""Read an NPZ file with the arrays `tokens`, `labels` and optionally `split`.

`tokens` is `[N, L]` with 0 as padding, or `[T]` with `offsets` `[N + 1]`; `labels` and `split` are `[N]`.

Letters: N examples, L positions, T tokens of all examples.
"""

import errno
import shutil
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from data_prep.tokens.table import (
    LARGEST_INT64,
    MOST_CLASSES,
    MOST_FILE_BYTES,
    MOST_LABEL_LETTERS,
    FileRows,
    Table,
    check_row_length,
    check_split,
    wrong_id,
)
from lra.data.manifest import SPLITS
from lra.types import UserError

NEEDED, OPTIONAL = ("tokens", "labels"), ("offsets", "split")
LETTER_BYTES = 4  # of numpy's texts
COPIED_BYTES = 1 << 20  # that are in memory at a time
# What zipfile and numpy raise for a forged or damaged file.
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError, MemoryError, OverflowError,
    TypeError, tokenize.TokenError,
)  # fmt: skip


def read_npz(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows, see `read_table`; the file's arrays are unpacked to `scratch`, and the tokens stay there.

    Raises:
        UserError: with the array or the row, when the file is not such a table.
    """
    arrays = _arrays(path, scratch)
    tokens, labels = arrays["tokens"], arrays["labels"]
    for name in ("tokens", "labels", *(["offsets"] if "offsets" in arrays else [])):
        if arrays[name].dtype.kind not in ("iuU" if name == "labels" else "iu"):
            raise UserError(f"{path}: {name} holds {arrays[name].dtype}, not whole numbers")
    if labels.ndim != 1 or not len(labels):
        raise UserError(f"{path}: labels has shape {list(labels.shape)}; it must be [N] with one label per example")
    split = arrays.get("split")
    if split is not None and (split.dtype.kind != "U" or split.shape != labels.shape):
        raise UserError(f"{path}: split is {split.dtype} {list(split.shape)}; it must be {len(labels)} words")
    offsets = arrays.get("offsets")
    bounds = _square(path, tokens, len(labels)) if offsets is None else _ragged(path, tokens, offsets, len(labels))
    longest = int(np.diff(bounds).argmax())
    check_row_length(f"{path}, row {longest}", int(bounds[longest + 1] - bounds[longest]))
    if tokens.dtype == np.uint64:
        _refuse_large_ids(path, tokens, bounds)
    kept, first_byte = _by_rows(tokens, scratch)
    names, numbers = _numbered(path, labels)
    return Table(
        path=path,
        rows=FileRows(
            path=kept, dtype=tokens.dtype, first_byte=first_byte, offsets=bounds, ids=None, padded=offsets is None
        ),
        tokens="ids",
        words=None,
        columns=None,
        labels=numbers,
        names=names,
        splits=None if split is None else _splits(path, split),
        lines=None,
    )


def _numbered(path: Path, labels: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return all different labels, and `[N]` the place of each row's label among them."""
    if labels.dtype.kind == "U" and labels.itemsize > MOST_LABEL_LETTERS * LETTER_BYTES:
        letters = labels.itemsize // LETTER_BYTES
        line = f"{path}: labels of {letters:,} letters, and at most {MOST_LABEL_LETTERS:,} are read"
        raise UserError(line, kind="wrong_label", key="label", value=letters, right=MOST_LABEL_LETTERS)
    index_of: dict[str, int] = {}
    numbers = np.empty(len(labels), np.int64)
    for rows in _chunks(labels):
        names, numbers_of_chunk = np.unique(labels[rows], return_inverse=True)
        if len(index_of | dict.fromkeys(names.astype(str).tolist())) > MOST_CLASSES:
            line = f"{path}: more than {MOST_CLASSES} different labels; a task has 2 to {MOST_CLASSES} classes"
            raise UserError(line, kind="classes", key="label", right=MOST_CLASSES)
        found = [index_of.setdefault(name, len(index_of)) for name in names.astype(str).tolist()]
        numbers[rows] = np.array(found)[numbers_of_chunk]
    return list(index_of), numbers


def _splits(path: Path, split: np.ndarray) -> np.ndarray:
    """Return the split of each row, `[N]`, in a type that is no wider than the names of the splits."""
    parts = []
    for rows in _chunks(split):
        chunk = np.asarray(split[rows])
        unknown = np.flatnonzero(~np.isin(chunk, SPLITS))
        if len(unknown):
            check_split(f"{path}, row {rows.start + unknown[0]}", chunk[unknown[0]])
        parts.append(chunk.astype(f"U{max(map(len, SPLITS))}"))
    return np.concatenate(parts)


def _refuse_large_ids(path: Path, tokens: np.ndarray, bounds: np.ndarray) -> None:
    """Refuse ids beyond int64, as which they are read."""
    per_row = 1 if tokens.ndim == 1 else tokens.shape[1]
    for span in _chunks(tokens):
        chunk = np.asarray(tokens[span]).reshape(-1)
        if len(chunk) and chunk.max() > LARGEST_INT64:
            first = span.start * per_row + int((chunk > LARGEST_INT64).argmax())
            row = int(np.searchsorted(bounds, first, side="right")) - 1
            raise wrong_id(f"{path}, row {row}", int(chunk[chunk > LARGEST_INT64][0]))


def _chunks(array: np.ndarray) -> Iterator[slice]:
    """Yield the ranges of an array that are read one after the other."""
    bytes_each = array.itemsize * (1 if array.ndim == 1 else max(array.shape[1], 1))
    together = max(1, COPIED_BYTES // max(bytes_each, 1))
    for start in range(0, len(array), together):
        yield slice(start, start + together)


def _arrays(path: Path, scratch: Path) -> dict[str, np.memmap]:
    """Unpack the arrays of the file, and open them without reading or unpickling them."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            size = sum(member.file_size for member in archive.infolist())
            if size > MOST_FILE_BYTES:
                raise UserError(f"{path} unpacks to {size:,} bytes, more than {MOST_FILE_BYTES:,}")
            for name in members:
                if name not in NEEDED + OPTIONAL:
                    raise UserError(
                        f"{path}: array {name!r:.60} is not known; there may be tokens, offsets, labels, split"
                    )
            for name, member in members.items():
                with archive.open(member) as content, (scratch / f"{name}.npy").open("wb") as unpacked:
                    shutil.copyfileobj(content, unpacked, COPIED_BYTES)
        arrays = {name: _open(path, name, scratch) for name in members}
    except UNREADABLE as error:
        if isinstance(error, UserError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            raise
        said = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read as NPZ: {said}; rows of unlike lengths need offsets") from error
    for name in NEEDED:
        if name not in arrays:
            raise UserError(f"{path} has no array {name}; it has {', '.join(arrays) or 'none'}")
    return arrays


def _open(path: Path, name: str, scratch: Path) -> np.memmap:
    unpacked = scratch / f"{name}.npy"
    with unpacked.open("rb") as file:
        if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
            raise UserError(f"{path}: {name} is no array; write the file with numpy.savez")
    opened: np.memmap = np.lib.format.open_memmap(unpacked, mode="r")
    return opened


def _by_rows(tokens: np.memmap, scratch: Path) -> tuple[Path, int]:
    """Return a file in which the rows lie one after the other, and the byte where the first one begins."""
    if tokens.flags.c_contiguous:
        return scratch / "tokens.npy", tokens.offset
    copy = scratch / "tokens.raw"
    with copy.open("wb") as file:
        for rows in _chunks(tokens):
            file.write(tokens[rows].tobytes())
    return copy, 0


def _square(path: Path, tokens: np.ndarray, count: int) -> np.ndarray:
    """Compute where the rows of `[N, L]` begin."""
    if tokens.ndim != 2 or len(tokens) != count:
        raise UserError(
            f"{path}: tokens has shape {list(tokens.shape)}; it must be [{count}, L] beside {count} labels,"
            " or [T] with offsets"
        )
    bounds: np.ndarray = np.arange(count + 1) * tokens.shape[1]
    return bounds


def _ragged(path: Path, tokens: np.ndarray, offsets: np.ndarray, count: int) -> np.ndarray:
    right = tokens.ndim == 1 and offsets.shape == (count + 1,)
    if not right or offsets[0] != 0 or offsets[-1] != len(tokens) or (offsets[1:] < offsets[:-1]).any():
        raise UserError(
            f"{path}: offsets has shape {list(offsets.shape)} beside tokens {list(tokens.shape)}; it must be"
            f" [{count + 1}], rising from 0 to the number of tokens"
        )
    return offsets.astype(np.int64)
