"""The source of Image: a CIFAR-10 archive, downloaded or local, or its unpacked folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TypedDict

import numpy as np

from data_prep.download import Archive
from data_prep.image import archive, stand_in
from data_prep.image.builder import Image
from data_prep.source import Request, Source, judge, locate, spread
from lra.data.image import FIRST_ID, encode
from lra.data.writer import Example

BINARY = Archive(
    name="cifar-10-binary.tar.gz",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    size_bytes=170_052_171,
    sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
PYTHON = Archive(
    name="cifar-10-python.tar.gz",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    size_bytes=170_498_071,
    sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
)
NAMES = (BINARY.name, PYTHON.name, "cifar-10-batches-bin", "cifar-10-batches-py")
BENCHMARK = {"train": 50_000, "test": 10_000}
DEV_SHARE = 10  # the dev split is the last tenth of the training images, in the archive's order


def open_source(request: Request) -> Source:
    """Open the source that the request names."""
    path = locate(request, NAMES, archive=BINARY, size_hint="170 MB", generates=False)
    if path is None:
        images = archive.read(stand_in.write(request.scratch, request.settings), request.tick)
        origin = "stand-in"
        facts: dict[str, object] = {"generator": "data_prep.image.stand_in"}
    else:
        images = archive.read(path, request.tick)
        counts = {split: len(labels) for split, (_, labels) in images.items()}
        origin, facts = judge(request, path, (BINARY, PYTHON), counts, BENCHMARK)
    planes, labels = images["train"]
    dev = len(labels) - len(labels) // DEV_SHARE
    splits = {"train": (planes[:dev], labels[:dev]), "dev": (planes[dev:], labels[dev:]), "test": images["test"]}
    chosen = {split: spread(len(part[1]), request.settings[split]) for split, part in splits.items()}
    rows = {split: partial(_rows, part, chosen[split]) for split, part in splits.items()}
    side = request.settings["side"]
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Image(rows=rows, settings=request.settings, config=request.size, data_dir=folder),
        encode=lambda record: _encode(record, side),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={split: len(numbers) for split, numbers in chosen.items()},
    )


class _Row(TypedDict):
    """An image's planes, and its class."""

    planes: np.ndarray
    label: int


def _rows(images: archive.Images, numbers: list[int]) -> Iterator[_Row]:
    planes, labels = images
    for i in numbers:
        yield {"planes": planes[i], "label": int(labels[i])}


def _encode(record: _Row, side: int) -> Example:
    return [encode(record["planes"], side)], int(record["label"])
