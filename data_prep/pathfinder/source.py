"""The source of Pathfinder and Path-X: the benchmark's images, or our generator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from data_prep.pathfinder import release
from data_prep.pathfinder.builder import Pathfinder
from data_prep.pathfinder.designs import CONTOUR_LENGTH, pathfinder32, pathfinder128
from data_prep.pathfinder.many import generate_many
from data_prep.pathfinder.splits import split_numbers
from data_prep.source import Request, Source, judge, locate, spread
from lra.data.pixels import FIRST_ID, encode
from lra.data.writer import Example
from lra.types import UserError

DESIGNS = {32: pathfinder32, 128: pathfinder128}
BENCHMARK = {"all": 200_000}
Images = Callable[[np.ndarray], Iterator[tuple[np.ndarray, int]]]  # from numbers to images and labels


def open_source(request: Request) -> Source:
    """Open the source that the request names.

    Raises:
        UserError: for an unknown difficulty, or a source that cannot be used.
    """
    settings = request.settings
    drawn_side, difficulty = settings["drawn_side"], settings["difficulty"]
    if drawn_side not in DESIGNS:
        raise UserError(
            f"task.data.drawn_side={drawn_side} has no design; choose one of {', '.join(map(str, DESIGNS))}"
        )
    if difficulty not in CONTOUR_LENGTH:
        raise UserError(f"task.difficulty={difficulty} is not known; choose one of {', '.join(CONTOUR_LENGTH)}")
    names = ("lra_release", f"pathfinder{drawn_side}", "lra_release.gz")
    path = locate(request, names, archive=None, size_hint="7.7 GB", generates=True)
    if path is None:
        origin, facts = "generated", {"generator": "data_prep.pathfinder.generator", "seed": settings["data_seed"]}
        count = settings["images"]
        images: Images = partial(generate_many, DESIGNS[drawn_side](difficulty), settings["data_seed"])
    else:
        rows, empty = release.read(path, side=drawn_side, difficulty=difficulty, tick=request.tick)
        origin, facts = judge(request, path, (), {"all": len(rows) + empty}, BENCHMARK)
        facts["empty_files_skipped"] = empty
        if request.size != "full":
            rows = [rows[i] for i in spread(len(rows), settings["images"])]
        count, images = len(rows), partial(_decoded, rows, drawn_side)
    numbers = split_numbers(count, settings["split"], settings["data_seed"])
    facts["split"] = {
        "how": settings["split"],
        "sha256": {name: hashlib.sha256(part.astype("<i8").tobytes()).hexdigest() for name, part in numbers.items()},
    }
    rows_of = {name: partial(_rows, images, part) for name, part in numbers.items()}
    config = f"{request.task}_{request.size}_{difficulty}"
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Pathfinder(side=drawn_side, rows=rows_of, config=config, data_dir=folder),
        encode=partial(_encode, side=settings["side"]),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={name: len(part) for name, part in numbers.items()},
    )


def _decoded(rows: list[release.Row], side: int, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    for number in numbers.tolist():
        yield release.decode(rows[number], side)


def _rows(images: Images, numbers: np.ndarray) -> Iterator[dict[str, Any]]:
    for image, label in images(numbers):
        yield {"image": image, "label": label}


def _encode(record: dict[str, Any], *, side: int) -> Example:
    return [encode(record["image"], side)], int(record["label"])
