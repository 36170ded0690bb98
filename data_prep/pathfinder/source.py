"""The source of Pathfinder and Path-X: the benchmark's images, or our generator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypedDict

import numpy as np

from data_prep.pathfinder import release
from data_prep.pathfinder.builder import Pathfinder
from data_prep.pathfinder.designs import CONTOUR_LENGTH, Design, pathfinder16, pathfinder32, pathfinder128
from data_prep.pathfinder.many import generate_many
from data_prep.pathfinder.splits import split_numbers
from data_prep.source import Request, Source, judge, locate, spread
from lra.arguments import check_choice
from lra.data.pixels import FIRST_ID, encode
from lra.data.writer import Example
from lra.types import UserError

DESIGNS = {32: pathfinder32, 128: pathfinder128}  # the benchmark's sides of an image
SMALL = 16  # of images that the benchmark does not have
BENCHMARK = {"all": 200_000}
MakeImages = Callable[[np.ndarray], Iterator[tuple[np.ndarray, int]]]  # from numbers to images and labels


def open_source(request: Request) -> Source:
    """Open the source that the request names.

    Raises:
        UserError: for an unknown difficulty, or a source that cannot be used.
    """
    settings = request.settings
    drawn_side, difficulty = settings["drawn_side"], settings["difficulty"]
    design = _design(drawn_side, difficulty)
    names = ("lra_release", f"pathfinder{drawn_side}", "lra_release.gz") if drawn_side in DESIGNS else ()
    path = locate(
        request, names, archive=None, size_hint="7.7 GB", generates=True, holds=partial(_may_hold, side=drawn_side)
    )
    if path is not None and drawn_side not in DESIGNS:
        raise UserError(
            f"source={request.source} cannot have images of {drawn_side} × {drawn_side} pixels, which the benchmark has"
            " none of: leave source= out, they are generated"
        )
    if path is None:
        origin, facts = "generated", {"generator": "data_prep.pathfinder.generator", "seed": settings["data_seed"]}
        count = settings["images"]
        images: MakeImages = partial(generate_many, design, settings["data_seed"])
    else:
        released = release.read(path, side=drawn_side, difficulty=difficulty, tick=request.tick)
        rows = released.rows
        origin, facts = judge(request, path, (), {"all": len(rows) + released.empty}, BENCHMARK)
        facts |= {"folder": released.folder, "folders_left_out": released.folders_left_out}
        facts["empty_files_skipped"] = released.empty
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
        make_builder=lambda folder: Pathfinder(rows=rows_of, settings=request.settings, config=config, data_dir=folder),
        encode=partial(_encode, side=settings["side"]),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={name: len(part) for name, part in numbers.items()},
    )


def _may_hold(path: Path, *, side: int) -> bool:
    """Whether a file or folder may hold images of a side: one that was unpacked for another task alone does not."""
    inside = (path / folder / f"pathfinder{side}" for folder in (".", "lra_release"))
    return path.is_file() or path.name == f"pathfinder{side}" or any(place.is_dir() for place in inside)


def _design(side: int, difficulty: str) -> Design:
    """What images of a side are drawn like.

    Raises:
        UserError: for a side or a difficulty that there is none of.
    """
    if side not in (SMALL, *DESIGNS):
        known = ", ".join(map(str, (SMALL, *DESIGNS)))
        raise UserError(f"task.data.drawn_side={side} has no design; choose one of {known}")
    check_choice("task.difficulty", difficulty, CONTOUR_LENGTH)
    if side == SMALL and difficulty != "easy":
        raise UserError(
            f"difficulty={difficulty} has no room in {SMALL} × {SMALL} pixels; choose easy there, or size=full"
        )
    return pathfinder16() if side == SMALL else DESIGNS[side](difficulty)


def _decoded(rows: list[release.ReleasedImage], side: int, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    for number in numbers.tolist():
        yield release.decode(rows[number], side)


class _Row(TypedDict):
    """An image, and 1 when both discs are on one contour."""

    image: np.ndarray
    label: int


def _rows(images: MakeImages, numbers: np.ndarray) -> Iterator[_Row]:
    for image, label in images(numbers):
        yield {"image": image, "label": label}


def _encode(record: _Row, *, side: int) -> Example:
    return [encode(record["image"], side)], int(record["label"])
