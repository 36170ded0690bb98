"""Writing a packed token store: streamed, and there only when it is whole."""

from __future__ import annotations

import json
import os
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from filelock import FileLock

from lra.data.manifest import FORMAT_VERSION, MANIFEST
from lra.data.store import array_path
from lra.files import replace_text, sha256, to_disk
from lra.types import TaskSpec, UserError

Sequence = np.ndarray | int  # what to store of a sequence, or the number of one that was written before
Example = tuple[list[Sequence], int]  # N sequences, and the label
QUANTILES = (0, 0.25, 0.5, 0.75, 0.95, 1)


@contextmanager
def store_lock(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Let one process at a time make the store in `folder`; another one waits, or gets `filelock.Timeout`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock"), blocking=wait):
        yield


def unfinished_folder(folder: Path) -> Path:
    """Where the store in `folder` is made."""
    return folder.with_name(f".{folder.name}.unfinished")


def replaced_folder(folder: Path) -> Path:
    """Where the store in `folder` is put when a new one takes its place."""
    return folder.with_name(f".{folder.name}.replaced")


def write_store(
    folder: Path,
    spec: TaskSpec,
    splits: dict[str, Iterable[Example]],
    *,
    dtype: type,
    max_length: int,
    first_id: int,
    facts: Mapping[str, object],
    started: float,
) -> dict[str, Any]:
    """Write a store and put it in the place of the one that is there; call it under `store_lock`.

    Args:
        folder: the store's folder; until the end its content is built beside it.
        spec: the task.
        splits: train, test and, when the dataset has one, dev; each read once from front to back.
        dtype: uint8 or uint16, of what is stored.
        max_length: longer sequences are cut to it, and counted.
        first_id: what must be added to what is stored for ids.
        facts: what else the manifest says: origin, source, builder, command, …; read when all is written.
        started: `time.monotonic()` when the work began, for the manifest's seconds.

    Returns:
        The manifest.

    Raises:
        UserError: for a label or a number of sequences that the spec does not know.
    """
    unfinished = unfinished_folder(folder)
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a killed process
    unfinished.mkdir(parents=True)
    with (unfinished / "tokens.raw").open("wb") as file:
        tokens = _Tokens(file, dtype, max_length)
        described = {name: _write_split(unfinished, name, spec, examples, tokens) for name, examples in splits.items()}
    _save_tokens(unfinished, tokens, dtype)
    manifest: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "spec": asdict(spec),
        "first_id": first_id,
        "max_length": max_length,
        "splits": described,
        "arrays": {path.stem: _describe(path) for path in sorted(unfinished.glob("*.npy"))},
        **facts,
    }
    manifest["seconds"] = round(time.monotonic() - started, 1)
    for path in unfinished.glob("*.npy"):
        to_disk(path)
    replace_text(unfinished / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    replaced = replaced_folder(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    if folder.exists():
        folder.rename(replaced)
    os.replace(unfinished, folder)
    shutil.rmtree(replaced, ignore_errors=True)
    return manifest


class _Tokens:
    """The sequences written so far, one after the other."""

    def __init__(self, file: BinaryIO, dtype: type, max_length: int):
        self.file, self.dtype, self.max_length = file, dtype, max_length
        self.lengths = array("q")
        self.cut = 0

    def add(self, sequence: Sequence) -> int:
        """Write a sequence unless it is there; returns its number."""
        if isinstance(sequence, int):
            assert 0 <= sequence < len(self.lengths), f"sequence {sequence} of {len(self.lengths)}"
            return sequence
        self.cut += len(sequence) > self.max_length
        kept: np.ndarray = np.ascontiguousarray(sequence[: self.max_length], self.dtype)
        self.file.write(kept.data)
        self.lengths.append(len(kept))
        return len(self.lengths) - 1


def _write_split(
    folder: Path, name: str, spec: TaskSpec, examples: Iterable[Example], tokens: _Tokens
) -> dict[str, object]:
    """Stream one split into its arrays; returns what the manifest says of it."""
    numbers, labels = array("i"), array("B")
    cut = tokens.cut
    for sequences, label in examples:
        if len(sequences) != spec.num_sequences or not 0 <= label < spec.num_classes:
            raise UserError(
                f"{name} example {len(labels)}: {len(sequences)} sequences and label {label}, but {spec.name} has"
                f" {spec.num_sequences} sequences and labels 0 to {spec.num_classes - 1}"
            )
        numbers.extend([tokens.add(sequence) for sequence in sequences])
        labels.append(label)
    if not labels:
        raise UserError(f"{name} has no example")
    table = np.frombuffer(numbers, np.int32).reshape(len(labels), spec.num_sequences)
    np.save(array_path(folder, f"{name}.sequences"), table)
    np.save(array_path(folder, f"{name}.labels"), np.frombuffer(labels, np.uint8))
    lengths = np.frombuffer(tokens.lengths, np.int64)[table]
    return {
        "count": len(labels),
        "label_counts": {str(label): count for label, count in sorted(Counter(labels).items())},
        "length_quantiles": {str(q): float(v) for q, v in zip(QUANTILES, np.quantile(lengths, QUANTILES), strict=True)},
        "cut_sequences": tokens.cut - cut,
        "empty_sequences": int((lengths == 0).sum()),
    }


def _save_tokens(folder: Path, tokens: _Tokens, dtype: type) -> None:
    raw, count = folder / "tokens.raw", sum(tokens.lengths)
    saved = np.lib.format.open_memmap(array_path(folder, "tokens"), "w+", dtype, (count,))
    if count:
        saved[:] = np.memmap(raw, dtype, "r")
    saved.flush()
    raw.unlink()
    offsets = np.concatenate([[0], np.cumsum(tokens.lengths)]).astype(np.int64)
    np.save(array_path(folder, "offsets"), offsets)


def _describe(path: Path) -> dict[str, object]:
    """What the manifest says of an array."""
    opened = np.load(path, mmap_mode="r", allow_pickle=False)
    return {"dtype": str(opened.dtype), "shape": list(opened.shape), "sha256": sha256(path)}
