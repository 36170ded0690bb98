"""Write a packed token store from streams of examples; its folder appears only when the store is complete."""

import json
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lra.base.file_lock import file_lock
from lra.base.files import making_folder, sha256
from lra.data.manifest import FORMAT_VERSION, MANIFEST
from lra.data.store import array_path
from lra.types import TaskSpec, UserError

Sequence = np.ndarray | int  # the numbers to store, or the number of a sequence that was written before
Example = tuple[list[Sequence], int]  # the N sequences, and the label
QUANTILES = (0, 0.25, 0.5, 0.75, 0.95, 1)


@dataclass(frozen=True, kw_only=True)
class StoreForm:
    """What a store holds, and how its numbers are kept.

    Attributes:
        spec: facts about the task.
        dtype: type of the stored numbers, uint8 or uint16.
        max_length: longer sequences are cut to this length, and counted.
        first_id: number to add to a stored number to get the token id.
    """

    spec: TaskSpec
    dtype: type
    max_length: int
    first_id: int


@contextmanager
def store_lock(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock that one process needs for making the store in `folder`.

    Raises:
        LockHeldError: when another process holds it and `wait` is False.
        NoFileLocksError: when the file system refuses to lock a file.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(folder.with_name(f".{folder.name}.lock"), seconds=None if wait else 0):
        yield


def write_store(
    folder: Path,
    form: StoreForm,
    splits: dict[str, Iterable[Example]],
    *,
    facts: Mapping[str, object],
    started: float,
    finish: Callable[[Path, dict[str, Any]], None] = lambda folder, manifest: None,
) -> dict[str, Any]:
    """Write a store, which replaces an existing one at the end; the caller holds `store_lock`.

    Args:
        splits: train, test and, if the dataset has one, dev; each is read once, in order.
        facts: further entries of the manifest, such as origin and builder. They are read after the last example.
        started: `time.monotonic()` when the work began, for the manifest's `seconds`.
        finish: called with the folder and the manifest before the store takes its place, to add files.

    Returns:
        The manifest.

    Raises:
        UserError: for a label or a number of sequences that the spec does not allow, and for an empty split.
    """
    with making_folder(folder, replace=True) as unfinished:
        with (unfinished / "tokens.raw").open("wb") as file:
            tokens = _TokenWriter(file, form)
            described = {name: _write_split(unfinished, name, examples, tokens) for name, examples in splits.items()}
        _save_tokens(unfinished, tokens)
        manifest: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            "spec": asdict(form.spec),
            "first_id": form.first_id,
            "max_length": form.max_length,
            "splits": described,
            "arrays": {path.stem: _describe(path) for path in sorted(unfinished.glob("*.npy"))},
            **facts,
            "seconds": round(time.monotonic() - started, 1),
        }
        (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
        finish(unfinished, manifest)
    return manifest


class _TokenWriter:
    """Writes sequences to a file, and counts them."""

    def __init__(self, file: BinaryIO, form: StoreForm):
        self.file, self.form = file, form
        self.lengths = array("q")
        self.cut = 0

    def add(self, sequence: Sequence) -> int:
        """Write a sequence, unless it is the number of one that was written; return its number."""
        if isinstance(sequence, int):
            assert 0 <= sequence < len(self.lengths), f"sequence {sequence} of {len(self.lengths)}"
            return sequence
        self.cut += len(sequence) > self.form.max_length
        kept: np.ndarray = np.ascontiguousarray(sequence[: self.form.max_length], self.form.dtype)
        self.file.write(kept.data)
        self.lengths.append(len(kept))
        return len(self.lengths) - 1


def _write_split(folder: Path, name: str, examples: Iterable[Example], tokens: _TokenWriter) -> dict[str, object]:
    """Write the arrays of one split, and return its entry in the manifest."""
    numbers, labels = array("i"), array("B")
    spec, cut = tokens.form.spec, tokens.cut
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


def _save_tokens(folder: Path, tokens: _TokenWriter) -> None:
    raw, count = folder / "tokens.raw", sum(tokens.lengths)
    # Written, not mapped into memory: on a full disk a mapped page would end the process without an error.
    header = {"descr": np.dtype(tokens.form.dtype).str, "fortran_order": False, "shape": (count,)}
    with array_path(folder, "tokens").open("wb") as file, raw.open("rb") as content:
        np.lib.format.write_array_header_1_0(file, header)
        shutil.copyfileobj(content, file)
    raw.unlink()
    offsets = np.concatenate([[0], np.cumsum(tokens.lengths)]).astype(np.int64)
    np.save(array_path(folder, "offsets"), offsets)


def _describe(path: Path) -> dict[str, object]:
    """Build an array's entry in the manifest."""
    opened = np.load(path, mmap_mode="r", allow_pickle=False)
    return {"dtype": str(opened.dtype), "shape": list(opened.shape), "sha256": sha256(path)}
