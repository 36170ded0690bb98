"""Folders of work in progress: gone at the end, and after a kill removed by the next `lra prepare`."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import Timeout

from lra.data.writer import replaced_folder, store_lock, unfinished_folder


def tfds_folder(store: Path) -> Path:
    """Where TFDS datasets lie, beside the stores."""
    return store.parents[2] / "tfds"


@contextlib.contextmanager
def unfinished_dataset(store: Path) -> Iterator[Path]:
    """A folder to make the TFDS dataset of a store in, removed at the end; call it under the store's lock."""
    folder = _dataset_folder(store)
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(ready: Path, place: Path) -> None:
    """Move a finished folder to its place, instead of what is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    os.replace(ready, place)


def remove_leftovers(store: Path) -> None:
    """Remove what killed processes have left of a store and its dataset, unless another process is making them."""
    folders = (_dataset_folder(store), unfinished_folder(store), replaced_folder(store))
    left = [folder for folder in folders if folder.exists() and os.access(folder.parent, os.W_OK)]
    if left:
        with contextlib.suppress(Timeout), store_lock(store, wait=False):
            for folder in left:
                shutil.rmtree(folder, ignore_errors=True)


def _dataset_folder(store: Path) -> Path:
    return tfds_folder(store) / f".{store.parent.name}-{store.name}.unfinished"
