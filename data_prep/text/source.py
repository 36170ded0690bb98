"""The source of Text: the IMDb archive, downloaded or local, or its unpacked folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TypedDict

import numpy as np

from data_prep.download import Archive
from data_prep.source import Request, Source, judge, locate, spread
from data_prep.text import archive, stand_in
from data_prep.text.builder import Text
from lra.data.text import FIRST_ID, encode, is_utf8
from lra.data.writer import Example

ARCHIVE = Archive(
    name="aclImdb_v1.tar.gz",
    url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    size_bytes=84_125_825,
    sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
)
NAMES = (ARCHIVE.name, "aclImdb")
BENCHMARK = {"train": 25_000, "test": 25_000}


def open_source(request: Request) -> Source:
    """Open the source that the request names."""
    path = locate(request, NAMES, archive=ARCHIVE, size_hint="84 MB", generates=False)
    if path is None:
        reviews = archive.read(stand_in.write(request.scratch, request.settings), request.tick)
        origin = "stand-in"
        facts: dict[str, object] = {"generator": "data_prep.text.stand_in"}
    else:
        reviews = archive.read(path, request.tick)
        counts = {split: len(rows) for split, rows in reviews.items()}
        origin, facts = judge(request, path, (ARCHIVE,), counts, BENCHMARK)
    chosen = {split: [rows[i] for i in spread(len(rows), request.settings[split])] for split, rows in reviews.items()}
    facts["invalid_utf8"] = sum(not is_utf8(text) for rows in chosen.values() for text, _ in rows)
    rows = {split: partial(_rows, part) for split, part in chosen.items()}
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Text(rows=rows, settings=request.settings, config=request.size, data_dir=folder),
        encode=_encode,
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={split: len(part) for split, part in chosen.items()},
    )


class _Row(TypedDict):
    """A review's bytes, and 0 for negative, 1 for positive."""

    text: np.ndarray
    label: int


def _rows(part: list[archive.Review]) -> Iterator[_Row]:
    for text, label in part:
        yield {"text": encode(text), "label": label}


def _encode(record: _Row) -> Example:
    return [record["text"]], int(record["label"])
