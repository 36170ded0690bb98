"""Writing a packed token store: streamed, and there only when it is whole."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from lra.data.store import ARRAYS, FORMAT_VERSION, MANIFEST, sha256
from lra.types import TaskSpec, UserError

Example = tuple[list[np.ndarray], int]  # the ids of N sequences, and the label
QUANTILES = (0, 0.25, 0.5, 0.75, 0.95, 1)


@contextmanager
def store_lock(folder: Path) -> Iterator[None]:
    """Let one process at a time make the store in `folder`; another one waits."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        yield


def write_store(
    folder: Path,
    spec: TaskSpec,
    splits: dict[str, Iterable[Example]],
    *,
    dtype: type,
    facts: dict[str, Any],
    started: float,
) -> dict[str, Any]:
    """Write a store and put it in the place of the one that is there; call it under `store_lock`.

    Args:
        folder: the store's folder; until the end its content is built beside it.
        spec: the task.
        splits: train, test and, when the dataset has one, dev; each read once from front to back.
        dtype: uint8 or uint16, of the ids.
        facts: what else the manifest says: origin, source, builder, command, ….
        started: `time.monotonic()` when the work began, for the manifest's seconds.

    Returns:
        The manifest.

    Raises:
        UserError: for a label or a number of sequences that the spec does not know.
    """
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a killed process
    unfinished.mkdir(parents=True)
    described = {name: _write_split(unfinished, name, spec, splits[name], dtype) for name in splits}
    manifest = {"format_version": FORMAT_VERSION, "spec": asdict(spec), "splits": described, **facts}
    manifest["seconds"] = round(time.monotonic() - started, 1)
    (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    replaced = folder.with_name(f".{folder.name}.replaced")
    shutil.rmtree(replaced, ignore_errors=True)
    if folder.exists():
        folder.rename(replaced)
    os.replace(unfinished, folder)
    shutil.rmtree(replaced, ignore_errors=True)
    return manifest


def _write_split(folder: Path, name: str, spec: TaskSpec, examples: Iterable[Example], dtype: type) -> dict[str, Any]:
    """Stream one split into its three arrays; returns what the manifest says of it."""
    lengths: list[int] = []
    labels: list[int] = []
    raw = folder / f"{name}.tokens.raw"
    with raw.open("wb") as file:
        for sequences, label in examples:
            if len(sequences) != spec.num_sequences or not 0 <= label < spec.num_classes:
                raise UserError(
                    f"{name} example {len(labels)}: {len(sequences)} sequences and label {label}, but {spec.name} has"
                    f" {spec.num_sequences} sequences and labels 0 to {spec.num_classes - 1}"
                )
            for ids in sequences:
                file.write(np.ascontiguousarray(ids, dtype).data)
                lengths.append(len(ids))
            labels.append(label)
    tokens = np.lib.format.open_memmap(folder / f"{name}.tokens.npy", "w+", dtype, (sum(lengths),))
    if len(tokens):
        tokens[:] = np.memmap(raw, dtype, "r")
    tokens.flush()
    raw.unlink()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    np.save(folder / f"{name}.offsets.npy", offsets)
    np.save(folder / f"{name}.labels.npy", np.array(labels, np.uint8))
    files = {array: folder / f"{name}.{array}.npy" for array in ARRAYS}
    opened = {array: np.load(path, mmap_mode="r", allow_pickle=False) for array, path in files.items()}
    return {
        "count": len(labels),
        "label_counts": {str(label): count for label, count in sorted(Counter(labels).items())},
        "length_quantiles": {str(q): float(v) for q, v in zip(QUANTILES, np.quantile(lengths, QUANTILES), strict=True)},
        "arrays": {
            array: {"dtype": str(opened[array].dtype), "length": len(opened[array]), "sha256": sha256(path)}
            for array, path in files.items()
        },
    }
