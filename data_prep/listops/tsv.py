"""The benchmark's own ListOps files, `basic_{train,val,test}.tsv`: a header, then expression and value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lra.data.listops import encode
from lra.types import UserError

FILES = {"train": "basic_train.tsv", "dev": "basic_val.tsv", "test": "basic_test.tsv"}
HEADER = ["Source", "Target"]


def find(folder: Path) -> dict[str, Path]:
    """The three files in `folder`, by split.

    Raises:
        UserError: when one is missing.
    """
    for name in FILES.values():
        if not (folder / name).is_file():
            raise UserError(f"{folder} has no {name}; source= wants the folder that holds {', '.join(FILES.values())}")
    return {split: folder / name for split, name in FILES.items()}


def read(path: Path) -> Iterator[tuple[str, int]]:
    """Expression and value of each row.

    Raises:
        UserError: with file and line, for a row that is not `expression⇥digit` in known tokens.
    """
    with path.open(encoding="utf-8", newline="") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}, line {number}"
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) != 2:
                raise UserError(f"{where}: {len(cells)} columns instead of 2 (expression, tab, value)")
            if number == 1:
                if cells != HEADER:
                    raise UserError(f"{where}: the header is {cells}, not {HEADER}; is this a ListOps file?")
                continue
            source, target = cells
            if target not in set("0123456789"):
                raise UserError(f"{where}: the value is {target!r} instead of a digit 0 to 9")
            try:
                encode(source)
            except UserError as error:
                raise UserError(f"{where}: {error}") from error
            yield source, int(target)
