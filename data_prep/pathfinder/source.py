"""Pathfinder and Path-X: grey images of dashed contours, from the benchmark's release, pickles or our generator."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
import torch

from data_prep.builder import Row, Rows, RowsBuilder
from data_prep.forms import GENERATED
from data_prep.left_out import check_left_out, left_out_facts
from data_prep.pathfinder import release
from data_prep.pathfinder.designs import Design, pathfinder16, pathfinder32, pathfinder128
from data_prep.pathfinder.generator import generate_many
from data_prep.png import decode_png
from data_prep.released_pickles import Pickles, is_pickle, names
from data_prep.source import Request, Source, determine_origin, evenly_spaced, locate
from lra.base.printed_commands import override
from lra.data.codec import FIRST_ID, encode_pixels
from lra.data.manifest import SPLITS
from lra.data.pathfinder import VERSION
from lra.data.writer import Example
from lra.types import UserError

DESIGNS = {32: pathfinder32, 128: pathfinder128}  # the benchmark's sides of an image
SMALL = 16  # of images that the benchmark does not have
BENCHMARK = {"all": 200_000}
EMPTY = {"easy": 1}  # images of the benchmark without content, at 32 × 32 pixels; pickles leave them out
PICKLED = {"ids": 32 * 32, "padding": 0, "largest": 255}
PICKLED_SIDE = 32
MakeImages = Callable[[np.ndarray], Iterator[tuple[np.ndarray, int]]]  # from numbers to images and labels


class Pathfinder(RowsBuilder):
    """Dashed contours with two marked ends; each image size is a TFDS configuration."""

    VERSION = tfds.core.Version(VERSION)
    RELEASE_NOTES = {  # noqa: RUF012  TFDS reads it from the class
        **RowsBuilder.RELEASE_NOTES,
        "2.0.0": "Generated images: contours begin as in the published generator; Path-X has 8 distractors, not 2.",
    }
    DESCRIPTION = "Are the two marked ends on one contour? Grey images of dashed contours."
    CITATION = """
@inproceedings{linsley2018learning, title={Learning long-range spatial dependencies with horizontal gated recurrent
units}, author={Drew Linsley and Junkyung Kim and Vijay Veerabadran and Charles Windolf and Thomas Serre},
booktitle={NeurIPS}, year={2018}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: grey levels `[side, side]`, and 1 if both discs are on the same contour."""
        side = settings["drawn_side"]
        return {
            "image": tfds.features.Tensor(shape=(side, side), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(num_classes=2),
        }


def split_numbers(count: int, how: str, seed: int) -> dict[str, np.ndarray]:
    """Choose the numbers of the images of train, dev and test, each in order.

    Args:
        count: number of all images; a tenth, rounded down, is for dev and a tenth for test.
        how: `permutation`: drawn from `seed`; `seed42`: the split of S4 and Mega, torch's `random_split` with seed 42.
        seed: seed of the permutation.
    """
    assert how in ("permutation", "seed42"), how
    if how == "permutation":
        order = np.random.default_rng(seed).permutation(count)
    else:
        order = torch.randperm(count, generator=torch.Generator().manual_seed(42)).numpy()
    tenth = count // 10
    ends = (0, count - 2 * tenth, count - tenth, count)
    return {name: np.sort(order[a:b]) for name, a, b in zip(SPLITS, ends, ends[1:], strict=False)}


def open_source(request: Request) -> Source:
    """Open the source that the request names.

    Raises:
        UserError: for an unknown difficulty, or a source that cannot be used.
    """
    settings = request.settings
    drawn_side, difficulty = settings["drawn_side"], settings["difficulty"]
    design = _design(drawn_side, difficulty)
    if drawn_side not in DESIGNS and request.source not in ("auto", "generate"):
        raise UserError(
            f"{override('source', request.source)} cannot have images of {drawn_side} × {drawn_side} pixels, which the"
            " benchmark has none of: leave source= out, they are generated"
        )
    folders = ("lra_release", f"pathfinder{drawn_side}", "lra_release.gz") if drawn_side in DESIGNS else ()
    pickled = f"pathfinder{PICKLED_SIDE}-{release.FOLDERS[difficulty]}"
    path = locate(
        request,
        (*folders, *(names(pickled) if drawn_side == PICKLED_SIDE else ())),
        archive=None,
        size_hint="7.7 GB",
        generates="pathfinder" in GENERATED,
        holds=partial(_may_hold, side=drawn_side),
    )
    if path is not None and is_pickle(path):
        return _open_pickles(request, path, pickled)
    if path is None:
        origin, facts = "generated", {"generator": "data_prep.pathfinder.generator", "seed": settings["data_seed"]}
        count = settings["images"]
        images: MakeImages = partial(generate_many, design, settings["data_seed"])
    else:
        released = release.read(path, side=drawn_side, difficulty=difficulty, tick=request.tick)
        rows, left_out = released.rows, released.left_out()
        check_left_out(request, path, len(rows), left_out)
        origin, facts = determine_origin(
            request,
            path,
            (),
            {"all": len(rows) + released.empty},
            BENCHMARK,
            patterns=released.patterns(path),
        )
        facts |= left_out_facts(left_out)
        facts |= {"folder": released.folder, "folders_left_out": released.folders_left_out}
        facts["empty_files_skipped"] = released.empty
        if request.size != "full":
            rows = [rows[i] for i in evenly_spaced(len(rows), settings["images"])]
        count, images = len(rows), partial(_decoded, rows, drawn_side)
    numbers = split_numbers(count, settings["split"], settings["data_seed"])
    facts["split"] = {
        "how": settings["split"],
        "sha256": {name: hashlib.sha256(part.astype("<i8").tobytes()).hexdigest() for name, part in numbers.items()},
    }
    rows_of = {name: partial(_rows, partial(images, part)) for name, part in numbers.items()}
    return _source(request, origin, facts, rows_of, {name: len(part) for name, part in numbers.items()})


def _open_pickles(request: Request, path: Path, pickled: str) -> Source:
    """Open pickles, which have a split of their own: their images were shuffled without a seed."""
    settings = request.settings
    if settings["drawn_side"] != PICKLED_SIDE:
        raise UserError(f"{path} has images of {PICKLED_SIDE} × {PICKLED_SIDE} pixels, not those of {request.task}")
    if settings["split"] != "permutation":
        raise UserError(
            f"{path} has a split of its own, and task.split={settings['split']} needs the benchmark's order; leave"
            " task.split out"
        )
    pickles = Pickles.open(request, path, pickled, SPLITS, **PICKLED)
    counts = pickles.counts()
    total = BENCHMARK["all"] - EMPTY.get(settings["difficulty"], 0)
    origin, facts = pickles.origin(counts, _shares(total))
    facts["split"] = {"how": "own"}
    wanted = counts if request.size == "full" else _shares(settings["images"])
    chosen = {split: evenly_spaced(count, wanted[split]) for split, count in counts.items()}
    rows = {split: partial(_rows, partial(_pickled, pickles, split, part)) for split, part in chosen.items()}
    return _source(request, origin, facts, rows, {split: len(part) for split, part in chosen.items()})


def _shares(count: int) -> dict[str, int]:
    """Return the sizes of splits of 80, 10 and 10 %, as the scripts that write pickles round them."""
    ends = (0, int(count * 0.8), int(count * 0.9), count)
    return {name: end - start for name, start, end in zip(SPLITS, ends, ends[1:], strict=False)}


def _pickled(pickles: Pickles, split: str, numbers: list[int]) -> Iterator[tuple[np.ndarray, int]]:
    for (levels,), label in pickles.chosen(split, numbers):
        yield levels.astype(np.uint8).reshape(PICKLED_SIDE, PICKLED_SIDE), label


def _source(
    request: Request, origin: str, facts: dict[str, object], rows: Mapping[str, Rows], counts: dict[str, int]
) -> Source:
    config = f"{request.task}_{request.size}_{request.settings['difficulty']}"
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Pathfinder(rows=rows, settings=request.settings, config=config, data_dir=folder),
        encode=partial(_encode, side=request.settings["side"]),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts=counts,
    )


def _may_hold(path: Path, *, side: int) -> bool:
    """Whether a file or folder may hold images of a side: one that was unpacked for another task alone does not."""
    inside = (path / folder / f"pathfinder{side}" for folder in (".", "lra_release"))
    return path.is_file() or path.name == f"pathfinder{side}" or any(folder.is_dir() for folder in inside)


def _design(side: int, difficulty: str) -> Design:
    """Build the design of images of a side; refuse a side that has none, and a difficulty that it has no room for."""
    if side not in (SMALL, *DESIGNS):
        known = ", ".join(map(str, (SMALL, *DESIGNS)))
        raise UserError(f"task.data.drawn_side={side} has no design; choose one of {known}")
    if side == SMALL and difficulty != "easy":
        raise UserError(
            f"difficulty={difficulty} has no room in {SMALL} × {SMALL} pixels; choose easy there, or size=full"
        )
    return pathfinder16() if side == SMALL else DESIGNS[side](difficulty)


def _decoded(rows: list[release.ReleasedImage], side: int, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    for number in numbers.tolist():
        name, content, label = rows[number]
        yield decode_png(content, name, side=side, mode="L"), label


def _rows(images: Callable[[], Iterator[tuple[np.ndarray, int]]]) -> Iterator[Row]:
    for image, label in images():
        yield {"image": image, "label": label}


def _encode(record: Row, *, side: int) -> Example:
    return [encode_pixels(record["image"], side)], int(record["label"])
