"""Read the benchmark's Retrieval files, `new_aan_pairs.{train,eval,test}.tsv`, as a stream.

They have no header, no quoting, and five columns: label (0.0 or 1.0), two names, two texts. The training file has over
8 GB, so only one line is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from data_prep.archives import BROKEN, broken, open_files
from lra.types import UserError

FILES = {
    "train": "new_aan_pairs.train.tsv",
    "dev": "new_aan_pairs.eval.tsv",
    "test": "new_aan_pairs.test.tsv",
}
LABELS = {b"0": 0, b"0.0": 0, b"1": 1, b"1.0": 1}
LONGEST_LINE_BYTES = 1 << 26


class Pair(NamedTuple):
    """A line of a file.

    Attributes:
        label: 0 or 1.
        texts: the bytes of both documents.
    """

    label: int
    texts: tuple[bytes, bytes]


def read(path: Path, split: str) -> Iterator[Pair]:
    """Yield the pairs of a split.

    Args:
        path: an archive or a folder with the three files.
        split: train, dev or test.

    Raises:
        UserError: with file and line, for a line that is not `label⇥name⇥name⇥text⇥text`; when the file is missing.
    """
    name = FILES[split]
    pattern = re.compile(rf"(?:.*/)?{re.escape(name)}")
    for match, file, _ in open_files(path, pattern, lambda done, total: None):
        try:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE_BYTES), b""), start=1):
                yield _pair(line, f"{path}: {match.string}, line {number}")
        except BROKEN as error:
            raise broken(path, error) from error
        return
    raise UserError(f"{path} holds no {name}; source= wants lra_release.gz, lra_release, or its folder tsv_data")


def _pair(line: bytes, where: str) -> Pair:
    cells = line.rstrip(b"\r\n").split(b"\t")
    if len(cells) != 5:
        raise UserError(f"{where}: {len(cells)} columns instead of 5 (label, two names, two texts)")
    if cells[0] not in LABELS:
        raise UserError(f"{where}: the label is {cells[0].decode(errors='replace')!r} instead of 0.0 or 1.0")
    return Pair(LABELS[cells[0]], (cells[3], cells[4]))
