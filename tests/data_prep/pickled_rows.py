"""Write pickles in the form of the Nyströmformer repository's scripts, from rows of ids."""

import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

SIZES = {"listops": (2048, 48), "text": (1024, 24), "retrieval": (4096, 96), "image": (1024, 0)}
PATHFINDER = "pathfinder32-curv_contour_length_14"
LABELS = {"listops": np.int32, "text": np.int64, "retrieval": np.float32, "image": np.int64}
Sequences = tuple[Iterable[int], ...]


def pickled_row(name: str, sequences: Sequences, label: int) -> dict[str, object]:
    """Make a row as the scripts do: cut, filled with zeros, its label a number of numpy's, but for Pathfinder."""
    ids, padding = SIZES.get(name, (1024, 0))
    row: dict[str, object] = {}
    for number, sequence in enumerate(sequences):
        kept = np.array(list(sequence)[: ids - padding], np.int32)
        row[f"input_ids_{number}"] = np.concatenate([kept, np.zeros(ids - len(kept), np.int32)])
    return {**row, "label": LABELS.get(name, int)(label)}


def write_pickles(
    folder: Path, name: str, rows: Mapping[str, Iterable[tuple[Sequences, int]]], *, before: str = "", protocol: int = 4
) -> Path:
    """Write the pickles of a task's splits into `folder`, and return it."""
    folder.mkdir(exist_ok=True)
    for split, part in rows.items():
        content = pickle.dumps([pickled_row(name, *row) for row in part], protocol=protocol)
        (folder / f"{before}{name}.{split}.pickle").write_bytes(content)
    return folder
