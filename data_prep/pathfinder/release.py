"""Read the benchmark's Pathfinder images from `lra_release`, packed or unpacked.

The folder of a difficulty has `imgs/<i>/sample_<k>.png` and `metadata/<i>.npy`, which has the labels (`metadata.py`).
"""

import glob
import re
from dataclasses import dataclass
from pathlib import Path

from data_prep.archives import Tick, innermost, read_files
from data_prep.left_out import LeftOut
from data_prep.pathfinder.metadata import read_metadata
from lra.types import UserError

FOLDERS = {"easy": "curv_baseline", "intermediate": "curv_contour_length_9", "hard": "curv_contour_length_14"}
LARGEST_BYTES = 1 << 24
SIDE_IN_NAME = re.compile(r"pathfinder(\d+)")
FILE = r"(?:(imgs/[^/]+/[^/]+\.png)|metadata/(\d+)\.npy)"  # of an image, and of the labels of a folder of images
ReleasedImage = tuple[str, bytes, int]  # name, PNG, label


@dataclass(frozen=True)
class Release:
    """The images of one folder of the release.

    Attributes:
        rows: every image with its label, in the metadata's order; empty files are left out.
        empty: number of the empty files that have a label.
        unlabelled: names of the images that no metadata names.
        metadata: numbers of the files of metadata.
        folder: the folder that was read, such as `lra_release/lra_release/pathfinder128/curv_contour_length_14`.
        folders_left_out: folders of the same name around it, which were not read.
    """

    rows: list[ReleasedImage]
    empty: int
    unlabelled: list[str]
    metadata: list[int]
    folder: str
    folders_left_out: list[str]

    def left_out(self) -> list[LeftOut]:
        """Count the images that are not read, by reason."""
        folders = sorted({int(number) for name in self.unlabelled if (number := name.split("/")[1]).isdecimal()})
        missing = [f"metadata/{number}.npy" for number in folders if number not in self.metadata]
        why = "images that no line of metadata names"
        if missing:
            why += f" ({missing[0]}{f' and {len(missing) - 1:,} more' if missing[1:] else ''} is not there)"
        return [LeftOut(len(self.unlabelled), why), LeftOut(self.empty, "images that are empty files")]

    def patterns(self, path: Path) -> list[str]:
        """Return glob patterns of the files that were read, below the folder `path`."""
        inside = glob.escape(self.folder.partition("/")[2])  # the folder's name begins with that of `path`
        return [str(Path(inside, "imgs/*/*.png")), str(Path(inside, "metadata/*.npy"))]


def read(path: Path, *, side: int, difficulty: str, tick: Tick) -> Release:
    """Read every image with its label.

    `lra_release.gz` has two folders `pathfinder128`: one beside the inner `lra_release`, and one in it. One of them has
    labels that nothing can learn (google-research/long-range-arena, issue 38). S4 and later work read the inner one,
    and so does this function.

    Args:
        path: an archive, the folder `pathfinder<side>`, that of its difficulty, or a folder that contains it; the
            folder that is named may have any name.
        side: 32 or 128.
        difficulty: a key of FOLDERS.
        tick: see `read_files`.

    Raises:
        UserError: for a broken archive, a line of metadata without an image or with another label than 0 or 1, or two
            folders of which none is inside the other's parent.
    """
    folder = _folder(path, side, FOLDERS[difficulty])
    pattern = re.compile(rf"((?:.*/)?){re.escape(folder)}/{FILE}")
    images: dict[str, bytes] = {}
    metadata: dict[int, bytes] = {}
    parents: dict[str, str] = {}
    inner = ""
    for match, content in read_files(path, pattern, largest_bytes=LARGEST_BYTES, tick=tick):
        parent = match.group(1)
        if parent not in parents:
            parents[parent] = f"{parent}{folder}"
            inner = innermost(path, parents)
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
    rows: list[ReleasedImage] = []
    for number in sorted(metadata):
        for location, name, label in read_metadata(metadata[number], f"{path}: {inner}{folder}/metadata/{number}.npy"):
            if name not in images:
                raise UserError(
                    f"{location}: {name} is not there; is the archive whole?", kind="missing_file", key=location
                )
            rows.append((name, images[name], label))
    filled = [row for row in rows if row[1]]
    labelled = {name for name, _, _ in rows}
    return Release(
        rows=filled,
        empty=len(rows) - len(filled),
        unlabelled=[name for name in images if name not in labelled],
        metadata=sorted(metadata),
        folder=f"{inner}{folder}",
        folders_left_out=[found for parent, found in sorted(parents.items()) if parent != inner],
    )


def _folder(path: Path, side: int, curves: str) -> str:
    """Return the folder of images of a side and a difficulty, such as `pathfinder32/curv_contour_length_14`.

    The folder `path` may be its first part or all of it under another name: what it holds tells, not its name, unless
    that is the name of another side or difficulty.
    """
    name_of_side = SIDE_IN_NAME.fullmatch(path.name)
    if path.is_dir() and (path / "metadata").is_dir() and path.name not in {*FOLDERS.values()} - {curves}:
        return path.name
    if (path / curves).is_dir() and (name_of_side is None or int(name_of_side[1]) == side):
        return f"{path.name}/{curves}"
    return f"pathfinder{side}/{curves}"
