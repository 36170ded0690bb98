"""Where ListOps comes from: our generator, or the benchmark's own files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from data_prep.listops import tsv
from data_prep.listops.builder import Listops
from data_prep.listops.generator import generate
from data_prep.source import Source
from lra.data.listops import decode, encode
from lra.data.store import SPLITS, sha256

Rows = Callable[[str], Iterator[tuple[str, int]]]
Tick = Callable[[int], None]


def open_source(settings: dict[str, Any], source: str, size: str, tick: Tick) -> Source:
    """The source that `source=` names.

    Args:
        settings: the task's `data` settings: counts per split, lengths, seed.
        source: `auto` or `generate` for the generator, else a folder with the three TSV files.
        size: names the TFDS configuration.
        tick: called with the number of examples drawn so far.
    """
    counts = {split: settings[split] for split in SPLITS}
    if source in ("auto", "generate"):
        return Source(
            origin="generated",
            facts={"generator": "data_prep.listops.generator", **settings},
            make_builder=lambda folder: Listops(rows=_drawn(settings, counts, tick), config=size, data_dir=folder),
            encode=_encode,
            dtype=np.uint8,
            counts=counts,
        )
    files = tsv.find(Path(source).expanduser())
    rows = {split: partial(tsv.read, path) for split, path in files.items()}
    return Source(
        # No checksum of the benchmark's files is published, so none could be verified.
        origin="altered",
        facts={"files": {path.name: sha256(path) for path in files.values()}},
        make_builder=lambda folder: Listops(rows=lambda split: rows[split](), config=f"{size}_tsv", data_dir=folder),
        encode=_encode,
        dtype=np.uint8,
        counts=counts,
    )


def _drawn(settings: dict[str, Any], counts: dict[str, int], tick: Tick) -> Rows:
    """Draw all splits at once, so that no expression is in two of them; at full size 100 MB."""
    drawn = generate(settings["data_seed"], min_length=settings["min_length"], max_length=settings["max_length"])
    examples = []
    for ids, value in itertools.islice(drawn, sum(counts.values())):
        examples.append((ids, value))
        tick(len(examples))
    ends = dict(zip(counts, itertools.accumulate(counts.values()), strict=True))

    def rows(split: str) -> Iterator[tuple[str, int]]:
        for ids, value in examples[ends[split] - counts[split] : ends[split]]:
            yield decode(ids), value

    return rows


def _encode(record: dict[str, Any]) -> tuple[list[np.ndarray], int]:
    return [encode(record["source"])], int(record["target"])
