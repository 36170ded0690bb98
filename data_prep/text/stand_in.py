"""Write invented reviews in the layout of the IMDb archive, so that Text runs without the archive."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from data_prep.archives import write_tar

NOUNS = ("film", "plot", "cast", "ending", "score", "café scene", "dialogue", "camera")
PRAISE, BLAME = ("moving", "clever", "warm", "a joy"), ("dull", "clumsy", "cold", "a chore")


def write(folder: Path, settings: Mapping[str, int]) -> Path:
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
