"""The source of Retrieval: the benchmark's files, packed or unpacked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from data_prep.retrieval import stand_in, tsv
from data_prep.retrieval.builder import Retrieval
from data_prep.source import Request, Source, judge, locate
from lra.data.text import FIRST_ID, encode, is_utf8
from lra.data.writer import Example, Sequence

NAMES = ("tsv_data", "lra_release/tsv_data", "lra_release/lra_release/tsv_data", "lra_release.gz")
BENCHMARK = {"train": 147_086, "dev": 18_090, "test": 17_437}


def open_source(request: Request) -> Source:
    """Open the source that the request names."""
    path = locate(request, NAMES, archive=None, size_hint="in lra_release.gz, 7.7 GB", generates=False)
    pairs = Pairs(request, path)
    return Source(
        origin=pairs.origin,
        facts=pairs.facts,
        make_builder=lambda folder: Retrieval(
            rows={split: partial(pairs.rows, split) for split in tsv.FILES},
            settings=request.settings,
            config=request.size,
            data_dir=folder,
        ),
        encode=PairEncoder(),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={split: request.settings[split] for split in tsv.FILES},
    )


class _Row(TypedDict):
    """Two documents, the bytes of those that are new, and 1 for a pair that belongs together."""

    documents: np.ndarray
    text: np.ndarray
    label: int


class Pairs:
    """Reads the pairs of all splits, one after the other; the text of a document is given only once.

    Args:
        request: the user's request.
        path: an archive or a folder; None: a stand-in.
    """

    def __init__(self, request: Request, path: Path | None):
        self.request, self.stand_in = request, path is None
        self.path = path or stand_in.write(request.scratch, request.settings)
        self.counts: dict[str, int] = {}
        self.facts: dict[str, Any] = {"path": str(self.path.resolve()), "invalid_utf8": 0}
        self.numbers: dict[bytes, int] = {}  # number of each document, by the digest of its text

    def origin(self) -> str:
        """Return the origin of the data, after all pairs were read: it depends on their number alone.

        No checksums of these files are published.
        """
        if self.stand_in:
            return "stand-in"
        origin, facts = judge(self.request, self.path, (), self.counts, BENCHMARK)
        self.facts |= facts
        return origin

    def rows(self, split: str) -> Iterator[_Row]:
        """Yield the rows of a split, as many as the settings say; the file is read to its end, to count its pairs."""
        limit, count = self.request.settings[split], 0
        for count, pair in enumerate(tsv.read(self.path, split), start=1):
            if count <= limit:
                yield self._row(pair)
        self.counts[split] = count
        if not self.stand_in and self.request.verify and count != BENCHMARK[split]:
            judge(self.request, self.path, (), {**BENCHMARK, split: count}, BENCHMARK)  # fails now, not at the end

    def _row(self, pair: tsv.Pair) -> _Row:
        documents, new = [], list[bytes]()
        for text in pair.texts:
            known = len(self.numbers)
            number = self._number(text)
            new += [text] if number == known else []
            documents.append((number, len(text) if number == known else 0))
        return {"documents": np.array(documents), "text": encode(b"".join(new)), "label": pair.label}

    def _number(self, text: bytes) -> int:
        """Return the number of a document, in the order of first mention."""
        digest = hashlib.blake2b(text, digest_size=16).digest()
        if digest not in self.numbers:
            self.numbers[digest] = len(self.numbers)
            self.facts["invalid_utf8"] += not is_utf8(text)
        return self.numbers[digest]


class PairEncoder:
    """Converts TFDS records, in order, to stored examples: a new document as bytes, a known one as its number."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, record: _Row) -> Example:
        """Convert a record to both documents and the label."""
        stored: list[Sequence] = []
        start = 0
        for number, length in record["documents"].tolist():
            if number < self.seen:
                stored.append(number)
            else:
                stored.append(record["text"][start : start + length])
                start, self.seen = start + length, self.seen + 1
        return stored, int(record["label"])
