"""The packed token store: flat arrays that open at once, and a manifest that says what they are.

One folder: `manifest.json`, and for each split `<split>.tokens.npy` (all ids, one after the other),
`<split>.offsets.npy` (int64; sequence i is `tokens[offsets[i]:offsets[i + 1]]`, an example's N sequences stand
together) and `<split>.labels.npy`. A dataset without a dev split of its own has train and test alone.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lra.types import TaskSpec, UserError

FORMAT_VERSION = 1
SPLITS = ("train", "dev", "test")
ARRAYS = ("tokens", "offsets", "labels")
MANIFEST = "manifest.json"


class Split:
    """One split, memory-mapped.

    Args:
        folder: the store's folder.
        name: train, dev or test.
        num_sequences: N.
    """

    def __init__(self, folder: Path, name: str, num_sequences: int):
        self.num_sequences = num_sequences
        self.chosen: np.ndarray | None = None  # the examples of this part of a split; None: all
        self.tokens, self.offsets, self.labels = (
            np.load(folder / f"{name}.{array}.npy", mmap_mode="r", allow_pickle=False) for array in ARRAYS
        )

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.labels if self.chosen is None else self.chosen)

    def part(self, chosen: np.ndarray) -> Split:
        """The examples whose numbers are in `chosen`, in that order, over the same arrays."""
        assert self.chosen is None
        part = copy.copy(self)
        part.chosen = chosen
        return part

    def rows(self, indices: np.ndarray) -> np.ndarray:
        """Where the examples `indices` of this part stand in the arrays."""
        return indices if self.chosen is None else self.chosen[indices]

    def example(self, index: int) -> tuple[list[np.ndarray], int]:
        """The token ids of an example's N sequences, and its label."""
        row = int(self.rows(np.array(index)))
        bounds = self.offsets[row * self.num_sequences : (row + 1) * self.num_sequences + 1]
        sequences = [np.asarray(self.tokens[a:b]) for a, b in itertools.pairwise(bounds)]
        return sequences, int(self.labels[row])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a store.

    Raises:
        UserError: when there is none, or none that this version can read.
    """
    path = folder / MANIFEST
    if not path.exists():
        raise UserError(f"no prepared data in {folder}; type: lra prepare {_arguments(folder)}")
    try:
        manifest = json.loads(path.read_text())
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}); {_again(folder)}") from error
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if version != FORMAT_VERSION:
        raise UserError(f"{folder} has store format {version}, this version reads {FORMAT_VERSION}; {_again(folder)}")
    return dict(manifest)


def open_store(folder: Path, spec: TaskSpec) -> dict[str, Split]:
    """The splits of the store in `folder`, opened without reading the arrays.

    Raises:
        UserError: when the store was made for another spec, or an array is not what the manifest says.
    """
    manifest = read_manifest(folder)
    if manifest["spec"] != asdict(spec):
        differs = next(key for key, value in asdict(spec).items() if manifest["spec"].get(key) != value)
        raise UserError(
            f"{folder} was made with {differs}={manifest['spec'].get(differs)}, but {differs}={getattr(spec, differs)}"
            f" is asked for; {_again(folder)}"
        )
    splits = {}
    for name in manifest["splits"]:
        try:
            split = splits[name] = Split(folder, name, spec.num_sequences)
        except (OSError, ValueError) as error:
            raise UserError(f"{folder}: the arrays of {name} cannot be opened ({error}); {_again(folder)}") from error
        for array in ARRAYS:
            found, said = getattr(split, array), manifest["splits"][name]["arrays"][array]
            if [str(found.dtype), len(found)] != [said["dtype"], said["length"]]:
                raise UserError(
                    f"{folder / name}.{array}.npy holds {len(found)} {found.dtype}, the manifest says"
                    f" {said['length']} {said['dtype']}; {_again(folder)}"
                )
    return splits


def verify_store(folder: Path) -> None:
    """Hash every array again.

    Raises:
        UserError: at the first that is not what the manifest says.
    """
    for name, split in read_manifest(folder)["splits"].items():
        for array, said in split["arrays"].items():
            path = folder / f"{name}.{array}.npy"
            if not path.exists() or sha256(path) != said["sha256"]:
                raise UserError(f"{path} is not what it was when it was made; {_again(folder)}")


def sha256(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _arguments(folder: Path) -> str:
    return f"task={folder.parent.name} size={folder.name}"


def _again(folder: Path) -> str:
    return f"make it again: lra prepare {_arguments(folder)} force=true"
