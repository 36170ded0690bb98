"""Read the benchmark's Pathfinder images from `lra_release`, packed or unpacked.

The folder of a difficulty has `imgs/<i>/sample_<k>.png` and `metadata/<i>.npy`. The latter are text files: each line
has folder, file, number, label, and the generator's arguments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from data_prep.archives import Tick, innermost, read_files
from lra.types import UserError

FOLDERS = {"easy": "curv_baseline", "intermediate": "curv_contour_length_9", "hard": "curv_contour_length_14"}
LARGEST_BYTES = 1 << 22
ReleasedImage = tuple[str, bytes, int]  # name, PNG, label


@dataclass(frozen=True)
class Release:
    """The images of one folder of the release.

    Attributes:
        rows: every image with its label, in the metadata's order; empty files are left out.
        empty: number of the empty files.
        folder: the folder that was read, such as `lra_release/lra_release/pathfinder128/curv_contour_length_14`.
        folders_left_out: folders of the same name around it, which were not read.
    """

    rows: list[ReleasedImage]
    empty: int
    folder: str
    folders_left_out: list[str]


def read(path: Path, *, side: int, difficulty: str, tick: Tick) -> Release:
    """Read every image with its label.

    `lra_release.gz` has two folders `pathfinder128`: one beside the inner `lra_release`, and one in it. One of them has
    labels that nothing can learn (google-research/long-range-arena, issue 38). S4 and later work read the inner one,
    and so does this function.

    Args:
        path: an archive, the folder `pathfinder<side>`, or a folder that contains it.
        side: 32 or 128.
        difficulty: a key of FOLDERS.
        tick: see `read_files`.

    Raises:
        UserError: for a broken archive, a line of metadata without an image or with another label than 0 or 1, or two
            folders of which none is inside the other's parent.
    """
    folder = f"pathfinder{side}/{FOLDERS[difficulty]}"
    pattern = re.compile(rf"((?:.*/)?){folder}/(?:(imgs/\d+/sample_\d+\.png)|metadata/(\d+)\.npy)")
    images: dict[str, bytes] = {}
    metadata: dict[int, bytes] = {}
    parents: set[str] = set()
    inner = ""
    for match, content in read_files(path, pattern, largest_bytes=LARGEST_BYTES, tick=tick):
        parent = match.group(1)
        if parent not in parents:
            parents.add(parent)
            inner = innermost(path, folder, parents)
            if inner == parent:  # what was read is of a folder around this one
                images.clear()
                metadata.clear()
        if parent != inner:
            continue
        if match.group(2):
            images[match.group(2)] = content
        else:
            metadata[int(match.group(3))] = content
    if images and not metadata:
        raise UserError(
            f"{path} has images in {inner}{folder}/imgs, but no labels: {inner}{folder}/metadata/0.npy and the like are"
            " missing; copy that folder too"
        )
    if not metadata:
        raise UserError(f"{path} has no {folder}/metadata/0.npy; source= wants lra_release.gz or lra_release")
    where = f"{path}: {inner}{folder}"
    rows = [row for number in sorted(metadata) for row in _rows(metadata[number], where, number, images)]
    filled = [row for row in rows if row[1]]
    left_out = [f"{parent}{folder}" for parent in sorted(parents - {inner})]
    return Release(filled, len(rows) - len(filled), f"{inner}{folder}", left_out)


def _rows(text: bytes, where: str, number: int, images: dict[str, bytes]) -> Iterator[ReleasedImage]:
    for line, content in enumerate(text.decode(errors="replace").splitlines(), start=1):
        row = f"{where}/metadata/{number}.npy, line {line}"
        cells = content.split()
        if len(cells) < 4 or cells[3] not in ("0", "1"):
            raise UserError(f"{row}: {content[:60]!r} has no label 0 or 1 in column 4")
        name = f"{cells[0]}/{cells[1]}"
        if name not in images:
            raise UserError(f"{row}: {name} is not there; is the archive whole?")
        yield name, images[name], int(cells[3])
