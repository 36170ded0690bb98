"""Text: IMDb reviews as bytes, from the published archive, downloaded or local, its folder, parquet or pickles.

Names, sizes and addresses of these forms are in `FORMS` of `data_prep/forms.py`.
"""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.archives import Tick, read_files, two_folders, write_tar
from data_prep.builder import Row, RowsBuilder
from data_prep.forms import DOWNLOADED, GENERATED, names_of
from data_prep.forms import IMDB as ARCHIVE
from data_prep.forms import IMDB_ON_HUB as HUB
from data_prep.left_out import LeftOut, beyond_size, check_left_out, left_out_facts
from data_prep.parquet import Parquet
from data_prep.parquet_files import is_parquet
from data_prep.released_pickles import Pickles, is_pickle
from data_prep.source import Request, Source, determine_origin, evenly_spaced, locate
from lra.data.text import FIRST_ID, VERSION, encode, is_utf8, raw
from lra.data.writer import Example
from lra.types import UserError

FILE = re.compile(r"((?:.*/)?)(train|test)/(?!unsup/)([^/]+)/([^/]+)\.txt")  # reviews without labels are no examples
NAME = re.compile(r"(\d+)_(\d+)")  # number and rating
LABELS = ("neg", "pos")  # folders of the classes 0 and 1
PATTERNS = tuple(f"{split}/{label}/*.txt" for split in ("train", "test") for label in LABELS)
LARGEST_BYTES = 1 << 20
Review = tuple[bytes, int]  # the bytes of the text, and 1 if it is positive
NOUNS = ("film", "plot", "cast", "ending", "score", "café scene", "dialogue", "camera")
PRAISE, BLAME = ("moving", "clever", "warm", "a joy"), ("dull", "clumsy", "cold", "a chore")
NAMES = names_of("text")
BENCHMARK = {"train": 25_000, "test": 25_000}
PICKLED = {"ids": 1_024, "padding": 24, "largest": 256}
PICKLED_BYTES = 1_000  # of a review in a pickle


@dataclass
class Reviews:
    """The reviews of one folder.

    Attributes:
        numbered: for each split, label, number, rating and bytes of each review.
        other: number of the texts in folders of labels that are no labelled reviews by their names.
    """

    numbered: dict[str, list[tuple[int, int, int, bytes]]] = field(default_factory=lambda: {"train": [], "test": []})
    other: int = 0

    def rows(self) -> dict[str, list[Review]]:
        """Return the reviews of each split; negative ones first, sorted by number."""
        return {split: [(text, label) for label, _, _, text in sorted(part)] for split, part in self.numbered.items()}

    def left_out(self) -> list[LeftOut]:
        """Count what is not read, by reason."""
        return [LeftOut(self.other, "texts that are no pos/ID_RATING.txt or neg/ID_RATING.txt")]


def read_archive(path: Path, tick: Tick) -> dict[str, list[Review]]:
    """Read the labelled reviews of train and test, as `read_reviews`."""
    return read_reviews(path, tick).rows()


def read_reviews(path: Path, tick: Tick) -> Reviews:
    """Read the labelled reviews of train and test, and count the other texts beside them.

    Raises:
        UserError: for a broken or unsafe archive, one without reviews, or with some in several folders.
    """
    found: dict[str, Reviews] = {}
    for match, text in read_files(path, FILE, largest_bytes=LARGEST_BYTES, tick=tick):
        folder, split, label, name = match.groups()
        reviews, numbers = found.setdefault(folder, Reviews()), NAME.fullmatch(name)
        if numbers is None or label not in LABELS:
            reviews.other += 1
            continue
        reviews.numbered[split].append((LABELS.index(label), int(numbers[1]), int(numbers[2]), text))
    whole = {folder: reviews for folder, reviews in found.items() if all(reviews.numbered.values())}
    if len(whole) > 1:
        raise two_folders(path, [folder.rstrip("/") for folder in whole])
    if not whole:
        if path.is_dir() and any(path.rglob("*.txt")):
            raise UserError(
                f"{path} has texts without labels: these are the folders pos and neg of aclImdb/train and aclImdb/test;"
                " unpack aclImdb_v1.tar.gz again, and name its folder: source=/path/to/aclImdb"
            )
        raise UserError(
            f"{path} holds no aclImdb/train/pos/0_9.txt and the like; source= wants aclImdb_v1.tar.gz or aclImdb"
        )
    return next(iter(whole.values()))


def write_stand_in(folder: Path, settings: Mapping[str, int]) -> Path:
    """Write `aclImdb_v1.tar.gz` into `folder`, always with the same reviews, as many as the settings say."""
    rng = random.Random(0)
    files = {}
    for split in ("train", "test"):
        for number in range(settings[split]):
            positive = number % 2 == 1
            words = [f"The {rng.choice(NOUNS)} was {rng.choice(PRAISE if positive else BLAME)}." for _ in range(12)]
            polarity, rating = ("pos", 9) if positive else ("neg", 2)
            text = " ".join(words[: rng.randint(1, 12)])
            files[f"aclImdb/{split}/{polarity}/{number}_{rating}.txt"] = text.encode()
    return write_tar(folder / "aclImdb_v1.tar.gz", files)


class Text(RowsBuilder):
    """50,000 film reviews, half of them positive, half for training."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Film reviews from IMDb as raw bytes, positive or negative."
    HOMEPAGE = "https://ai.stanford.edu/~amaas/data/sentiment/"
    CITATION = """
@inproceedings{maas2011learning, title={Learning Word Vectors for Sentiment Analysis}, author={Andrew L. Maas and
Raymond E. Daly and Peter T. Pham and Dan Huang and Andrew Y. Ng and Christopher Potts}, booktitle={ACL}, year={2011}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: the bytes, and the label, 0 for negative and 1 for positive."""
        return {
            "text": tfds.features.Tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(names=list(LABELS)),
        }


def open_source(request: Request) -> Source:
    """Open the source that the request names."""
    path = locate(request, NAMES, archive=DOWNLOADED["text"], generates="text" in GENERATED)
    left_out: list[LeftOut] = []
    words = None
    if path is None:
        reviews = read_archive(write_stand_in(request.scratch, request.settings), request.tick)
        origin = "stand-in"
        facts: dict[str, object] = {"generator": "data_prep.text.source"}
    elif is_pickle(path):
        pickles = Pickles.open(request, path, "text", BENCHMARK, **PICKLED)
        reviews = {split: [(raw(ids), label) for (ids,), label in pickles.rows(split)] for split in BENCHMARK}
        origin, facts = pickles.origin({split: len(rows) for split, rows in reviews.items()}, BENCHMARK)
        if request.settings["max_length"] > PICKLED_BYTES:
            facts["requires"] = {"text_length": PICKLED_BYTES}
    elif is_parquet(path):
        files = Parquet.open(request, path, HUB, tuple(BENCHMARK), "text")
        origin, facts = files.origin(BENCHMARK)
        reviews = {split: [(text, label) for _, text, label in files.rows(split)] for split in BENCHMARK}
    else:
        read = read_reviews(path, request.tick)
        reviews, left_out, words = read.rows(), read.left_out(), LABELS
        counts = {split: len(rows) for split, rows in reviews.items()}
        check_left_out(request, path, sum(counts.values()), left_out)
        origin, facts = determine_origin(request, path, (ARCHIVE,), counts, BENCHMARK, patterns=PATTERNS)
    there = {split: len(rows) for split, rows in reviews.items()}
    chosen = {
        split: [rows[i] for i in evenly_spaced(len(rows), request.settings[split])] for split, rows in reviews.items()
    }
    taken = {split: len(rows) for split, rows in chosen.items()}
    facts |= left_out_facts([*left_out, *beyond_size(request, there, taken)])
    facts["invalid_utf8"] = sum(not is_utf8(text) for rows in chosen.values() for text, _ in rows)
    rows = {split: partial(_rows, part) for split, part in chosen.items()}
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Text(rows=rows, settings=request.settings, config=request.size, data_dir=folder),
        encode=_encode,
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts=taken,
        label_words=words,
    )


def _rows(part: list[Review]) -> Iterator[Row]:
    for text, label in part:
        yield {"text": encode(text), "label": label}


def _encode(record: Row) -> Example:
    return [record["text"]], int(record["label"])
