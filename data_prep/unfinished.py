"""Temporary folders of a preparation: removed at its end, or after a kill by the next `lra prepare`."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import Timeout

from lra.data.writer import replaced_folder, store_lock, unfinished_folder


def tfds_folder(store: Path) -> Path:
    """Return the folder of TFDS datasets, which is beside the stores."""
    return store.parents[2] / "tfds"


@contextlib.contextmanager
def unfinished_dataset(store: Path) -> Iterator[Path]:
    """Make a temporary folder for the TFDS dataset of a store; the caller holds the store's lock."""
    folder = _dataset_folder(store)
    shutil.rmtree(folder, ignore_errors=True)  # a killed process may have left it
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(ready: Path, place: Path) -> None:
    """Move a finished folder to its place, and replace an existing folder."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    os.replace(ready, place)


def remove_leftovers(store: Path) -> None:
    """Remove the temporary folders that killed processes have left, unless another process is making the store."""
    folders = (_dataset_folder(store), unfinished_folder(store), replaced_folder(store))
    left = [folder for folder in folders if folder.exists() and os.access(folder.parent, os.W_OK)]
    if left:
        with contextlib.suppress(Timeout), store_lock(store, wait=False):
            for folder in left:
                shutil.rmtree(folder, ignore_errors=True)


def _dataset_folder(store: Path) -> Path:
    return tfds_folder(store) / f".{store.parent.name}-{store.name}.unfinished"
