"""Read the IMDb archive, `aclImdb_v1.tar.gz`, or its unpacked folder."""

from __future__ import annotations

import re
from pathlib import Path

from data_prep.archives import Tick, read_files
from lra.types import UserError

REVIEW = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_(\d+)\.txt")
LARGEST_BYTES = 1 << 20
Review = tuple[bytes, int]  # the bytes of the text, and 1 if it is positive


def read(path: Path, tick: Tick) -> dict[str, list[Review]]:
    """Read the labelled reviews of train and test; negative ones first, sorted by number.

    Raises:
        UserError: for a broken or unsafe archive, or one without reviews.
    """
    reviews: dict[str, list[tuple[int, int, int, bytes]]] = {"train": [], "test": []}
    for match, text in read_files(path, REVIEW, largest_bytes=LARGEST_BYTES, tick=tick):
        split, polarity, number, rating = match.groups()
        reviews[split].append((int(polarity == "pos"), int(number), int(rating), text))
    if not reviews["train"] or not reviews["test"]:
        raise UserError(
            f"{path} holds no aclImdb/train/pos/0_9.txt and the like; source= wants aclImdb_v1.tar.gz or aclImdb"
        )
    return {split: [(text, label) for label, _, _, text in sorted(rows)] for split, rows in reviews.items()}
