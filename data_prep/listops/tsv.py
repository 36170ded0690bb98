"""Read the benchmark's ListOps files, `basic_{train,val,test}.tsv`: a header, then expression and value."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from data_prep.archives import BROKEN, Tick, broken, innermost, lines, open_files, refuse_outside
from data_prep.listops.evaluation import checked_rows
from lra.data.listops import encode
from lra.types import UserError

FILES = {"train": "basic_train.tsv", "dev": "basic_val.tsv", "test": "basic_test.tsv"}
HEADER = [b"Source", b"Target"]
FOLDER = "listops-1000"
IN_ARCHIVE = re.compile(rf"((?:.*?/)??)(?:{FOLDER}/)?({'|'.join(map(re.escape, FILES.values()))})")
LONGEST_LINE_BYTES = 1 << 20
LARGEST_FILE_BYTES = 1 << 30  # the largest one has 190 MB


def find(path: Path, scratch: Path, tick: Tick) -> dict[str, Path]:
    """Find the three files by split in a folder, or in an archive, of which they are unpacked to `scratch`.

    Raises:
        UserError: when a file is missing, or is a link to a place outside.
    """
    folder = path if path.is_dir() else _unpacked(path, scratch, tick)
    for name in FILES.values():
        if not (folder / name).is_file():
            raise UserError(
                f"{path} has no {name}; source= wants lra_release.gz, or the folder that holds"
                f" {', '.join(FILES.values())}"
            )
        refuse_outside(folder / name, folder)
    return {split: folder / name for split, name in FILES.items()}


def _unpacked(path: Path, scratch: Path, tick: Tick) -> Path:
    """Unpack the three files of an archive; of folders inside each other, the innermost has them."""
    parents: dict[str, str] = {}
    inner = ""
    for match, file, size in open_files(path, IN_ARCHIVE, tick):
        parent = match.group(1)
        if parent not in parents:
            parents[parent] = match.string.rpartition("/")[0]
            inner = innermost(path, parents)
            if inner == parent:  # what was unpacked is of a folder around this one
                for name in FILES.values():
                    (scratch / name).unlink(missing_ok=True)
        if parent != inner:
            continue
        if size > LARGEST_FILE_BYTES:
            raise UserError(f"{path}: {match.string} has {size:,} bytes, and at most {LARGEST_FILE_BYTES:,} are read")
        try:
            with (scratch / match.group(2)).open("wb") as unpacked:
                shutil.copyfileobj(file, unpacked)
        except BROKEN as error:
            raise broken(path, error) from error
    return scratch


def count(path: Path) -> int:
    """Count the rows of a file without checking them."""
    return max(sum(1 for _ in _lines(path)) - 1, 0)


def read(path: Path, *, max_length: int, size: str) -> Iterator[tuple[str, int]]:
    """Yield expression and value of each row, and check it as `checked_rows` does.

    Raises:
        UserError: with file and line, for a row that is not `expression⇥value` in known tokens, that has a wrong value,
            or that is too long.
    """
    return checked_rows(encoded(path), max_length=max_length, size=size)


def encoded(path: Path) -> Iterator[tuple[str, str, np.ndarray, int]]:
    """Yield the place of each row for errors, its expression, the expression's token ids and the stated value.

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
        yield where, source.decode(), ids, int(target)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for number, line in enumerate(lines(file, LONGEST_LINE_BYTES + 1), start=1):
            if len(line) > LONGEST_LINE_BYTES:
                where = f"{path}, line {number}"
                raise UserError(f"{where}: more than {LONGEST_LINE_BYTES:,} bytes; is this a ListOps file?")
            yield line


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\r\n").decode(errors="replace")[:60]
