"""Write pairs of invented documents in the benchmark's file format, so that Retrieval runs without its files."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from data_prep.retrieval.tsv import FILES

TOPICS = ("parsing", "tagging", "translation", "summaries", "speech")


def write(folder: Path, settings: Mapping[str, int]) -> Path:
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
