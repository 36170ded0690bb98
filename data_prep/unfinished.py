"""Temporary folders of a preparation: removed at its end, or after a kill by the next, which restores an old store."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import Timeout

from lra.base.files import delete_temporary, replaced_folder, restore_folder, unfinished_folder
from lra.data.writer import store_lock


@contextlib.contextmanager
def unfinished_dataset(store: Path) -> Iterator[Path]:
    """Make a temporary folder for the TFDS dataset that a store is packed from; the caller holds the store's lock."""
    folder = _dataset_folder(store)
    shutil.rmtree(folder, ignore_errors=True)  # a killed process may have left it
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(store: Path) -> None:
    """Call `clear_leftovers` if there are any, unless another process is making the store."""
    folders = (_dataset_folder(store), unfinished_folder(store), replaced_folder(store))
    left = [folder for folder in folders if folder.exists() and os.access(folder.parent, os.W_OK)]
    if left:
        with contextlib.suppress(Timeout), store_lock(store, wait=False):
            clear_leftovers(store)


def clear_leftovers(store: Path) -> None:
    """Remove the temporary folders that killed processes have left; the caller holds the store's lock.

    A process that was killed between the two renames of `making_folder` has left an old store under another name and
    none in its place: it is moved back.
    """
    restore_folder(store)
    delete_temporary(store)
    shutil.rmtree(_dataset_folder(store), ignore_errors=True)


def _dataset_folder(store: Path) -> Path:
    return store.with_name(f".{store.name}.tfds.unfinished")
