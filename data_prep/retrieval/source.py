"""Retrieval: pairs of documents from the benchmark's files, `new_aan_pairs.{train,eval,test}.tsv`, packed or unpacked.

The files have no header, no quoting, and five columns: label (0.0 or 1.0), two names, two texts. The training file has
over 8 GB, so only one line is in memory. The bytes of a document are stored where it comes first.
"""

import glob
import hashlib
import random
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from data_prep.archives import BROKEN, broken, lines, no_progress, open_files
from data_prep.builder import Row, RowsBuilder
from data_prep.forms import GENERATED, names_of
from data_prep.left_out import beyond_size, left_out_facts
from data_prep.released_pickles import Pickles, is_pickle
from data_prep.source import Request, Source, determine_origin, locate
from lra.data.retrieval import VERSION
from lra.data.text import FIRST_ID, encode, is_utf8, raw
from lra.data.writer import Example, Sequence
from lra.types import UserError

FILES = {"train": "new_aan_pairs.train.tsv", "dev": "new_aan_pairs.eval.tsv", "test": "new_aan_pairs.test.tsv"}
LABELS = {b"0": 0, b"0.0": 0, b"1": 1, b"1.0": 1}
LONGEST_LINE_BYTES = 1 << 26
TOPICS = ("parsing", "tagging", "translation", "summaries", "speech")
NAMES = names_of("retrieval")
PICKLED = {"ids": 4_096, "padding": 96, "largest": 256}
BENCHMARK = {"train": 147_086, "dev": 18_090, "test": 17_437}


class Pair(NamedTuple):
    """A line of a file: the label, 0 or 1, and the bytes of both documents."""

    label: int
    texts: tuple[bytes, bytes]


def read_pairs(path: Path, split: str) -> Iterator[Pair]:
    """Yield the pairs of a split, from an archive or a folder with the three files.

    Raises:
        UserError: with file and line, for a line that is not `label⇥name⇥name⇥text⇥text`; when the file is missing.
    """
    name = FILES[split]
    for match, file, _ in open_files(path, _pattern(name), no_progress):
        try:
            for number, line in enumerate(lines(file, LONGEST_LINE_BYTES), start=1):
                yield _pair(line, f"{path}: {match.string}, line {number}")
        except BROKEN as error:
            raise broken(path, error) from error
        return
    raise UserError(f"{path} holds no {name}; source= wants lra_release.gz, lra_release, or its folder tsv_data")


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:.*/)?{re.escape(name)}")


def _pair(line: bytes, where: str) -> Pair:
    cells = line.rstrip(b"\r\n").split(b"\t")
    if len(cells) != 5:
        raise UserError(f"{where}: {len(cells)} columns instead of 5 (label, two names, two texts)")
    if cells[0] not in LABELS:
        raise UserError(f"{where}: the label is {cells[0].decode(errors='replace')!r} instead of 0.0 or 1.0")
    return Pair(LABELS[cells[0]], (cells[3], cells[4]))


def write_stand_in(folder: Path, settings: Mapping[str, int]) -> Path:
    """Write `tsv_data` into `folder`, with as many pairs as the settings say; label 1 means the same topic."""
    rng = random.Random(0)
    tsv_data = folder / "tsv_data"
    tsv_data.mkdir()
    for split, name in FILES.items():
        lines = []
        for number in range(settings[split]):
            topic = rng.choice(TOPICS)
            other = topic if number % 2 else rng.choice([t for t in TOPICS if t != topic])
            (a, first), (b, second) = (_document(rng, t) for t in (topic, other))
            lines.append(f"{float(number % 2)}\t{a}\t{b}\t{first}\t{second}\n")
        (tsv_data / name).write_text("".join(lines))
    return tsv_data


def _document(rng: random.Random, topic: str) -> tuple[str, str]:
    """Choose one of twenty documents on a topic; return its name and text."""
    number = rng.randrange(20)
    return f"{topic}-{number}", " ".join([f"On {topic}, part {number}."] * (1 + number % 7))


class Retrieval(RowsBuilder):
    """Does one of two papers cite the other? 147,086 / 18,090 / 17,437 pairs."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Pairs of papers of the ACL Anthology Network: does one cite the other?"
    HOMEPAGE = "https://aan.how"
    CITATION = """
@article{radev2013acl, title={The ACL Anthology Network corpus}, author={Dragomir R. Radev and Pradeep Muthukrishnan
and Vahed Qazvinian and Amjad Abu-Jbara}, journal={Language Resources and Evaluation}, year={2013}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: the two documents, and the label.

        `documents` has a row for each of the two: the document's number, in the order of first mention, and its bytes
        in `text`, which is empty if the document was in an earlier pair.
        """
        return {
            "documents": tfds.features.Tensor(shape=(2, 2), dtype=np.int64),
            "text": tfds.features.Tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(num_classes=2),
        }


def open_source(request: Request) -> Source:
    """Open the source that the request names."""
    generates = "retrieval" in GENERATED
    path = locate(request, NAMES, archive=None, size_hint="in lra_release.gz, 7.7 GB", generates=generates)
    pairs = Pairs(request, path)
    return Source(
        origin=pairs.origin,
        facts=pairs.facts,
        make_builder=lambda folder: Retrieval(
            rows={split: partial(pairs.rows, split) for split in FILES},
            settings=request.settings,
            config=request.size,
            data_dir=folder,
        ),
        encode=PairEncoder(),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={split: request.settings[split] for split in FILES},
        label_words=None if pairs.pickles else ("0.0", "1.0"),
    )


class Pairs:
    """Reads the pairs of all splits, one after the other; the text of a document is given only once.

    `path` is an archive, a folder or a pickle; None: a stand-in.
    """

    def __init__(self, request: Request, path: Path | None):
        self.request, self.stand_in = request, path is None
        self.path = path or write_stand_in(request.scratch, request.settings)
        pickled = is_pickle(self.path)
        self.pickles = Pickles.open(request, self.path, "retrieval", FILES, **PICKLED) if pickled else None
        self.counts: dict[str, int] = {}
        self.facts: dict[str, Any] = {"invalid_utf8": 0}
        if self.stand_in:
            self.facts["generator"] = "data_prep.retrieval.source"
        self.numbers: dict[bytes, int] = {}  # number of each document, by the digest of its text

    def origin(self) -> str:
        """Return the origin of the data, after all pairs were read: it depends on their number alone.

        No checksums of these files are published.
        """
        if self.stand_in:
            return "stand-in"
        if self.pickles:
            origin, facts = self.pickles.origin(self.counts, BENCHMARK)
        else:
            patterns = self._patterns() if self.path.is_dir() else ()
            origin, facts = determine_origin(self.request, self.path, (), self.counts, BENCHMARK, patterns=patterns)
        taken = {split: min(count, self.request.settings[split]) for split, count in self.counts.items()}
        self.facts |= facts | left_out_facts(beyond_size(self.request, self.counts, taken))
        return origin

    def _patterns(self) -> list[str]:
        """Return glob patterns of the three files below the folder, of which the first of each name was read."""
        files = (next(open_files(self.path, _pattern(name), no_progress))[0].string for name in FILES.values())
        return [glob.escape(file.partition("/")[2]) for file in files]

    def rows(self, split: str) -> Iterator[Row]:
        """Yield the rows of a split, as many as the settings say; the file is read to its end, to count its pairs."""
        limit, count = self.request.settings[split], 0
        for count, pair in enumerate(self._pairs(split), start=1):
            if count <= limit:
                yield self._row(pair)
        self.counts[split] = count
        if not self.stand_in and self.request.verify and count != BENCHMARK[split]:
            # It is refused now, not at the end.
            determine_origin(self.request, self.path, (), {**BENCHMARK, split: count}, BENCHMARK)

    def _pairs(self, split: str) -> Iterator[Pair]:
        if self.pickles is None:
            return read_pairs(self.path, split)
        return (Pair(label, (raw(first), raw(second))) for (first, second), label in self.pickles.rows(split))

    def _row(self, pair: Pair) -> Row:
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

    def __call__(self, record: Row) -> Example:
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
