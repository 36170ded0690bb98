"""The packed token store: flat arrays that open at once, and a manifest that says what they are.

One folder: `manifest.json`; `tokens.npy`, all sequences one after the other, each stored once; `offsets.npy` (int64;
sequence i is `tokens[offsets[i]:offsets[i + 1]]`); and for each split `<split>.sequences.npy` (`[examples, N]`, the
numbers of each example's sequences) and `<split>.labels.npy`. A dataset without a dev split of its own has train and
test alone. An id is what is stored plus the manifest's `first_id`: bytes are stored as they are, and become 1 to 256.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lra.paths import regular_file
from lra.types import TaskSpec, UserError

FORMAT_VERSION = 2
SPLITS = ("train", "dev", "test")
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Split:
    """One split of a store, or a part of one.

    Attributes:
        tokens: what is stored of all sequences, uint8 or uint16, memory-mapped.
        offsets: where each sequence begins in it, and the end.
        sequences: `[examples, N]`, numbers of sequences.
        labels: `[examples]`.
        first_id: what to add to `tokens` for ids.
        longest: how much of a sequence is used, from its beginning; None: all of it.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    sequences: np.ndarray
    labels: np.ndarray
    first_id: int
    longest: int | None = None

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.labels)

    def part(self, chosen: np.ndarray) -> Split:
        """The examples whose numbers are in `chosen`, in that order, over the same tokens."""
        return replace(self, sequences=self.sequences[chosen], labels=self.labels[chosen])

    def example(self, index: int) -> tuple[list[np.ndarray], int]:
        """What is stored of an example's N sequences, and its label."""
        bounds = [self.offsets[number : number + 2] for number in self.sequences[index].tolist()]
        return [np.asarray(self.tokens[a:b][: self.longest]) for a, b in bounds], int(self.labels[index])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a store.

    Raises:
        UserError: when there is none, or none that this version can read.
    """
    path = folder / MANIFEST
    if not path.exists():
        raise UserError(f"no prepared data in {folder}; type: lra prepare {_arguments(folder)}")
    try:
        manifest = json.loads(regular_file(path).read_text())
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
    try:
        arrays = {name: _open_array(folder, name, said) for name, said in manifest["arrays"].items()}
    except (OSError, ValueError) as error:
        raise UserError(f"{error}; {_again(folder)}") from error
    shared = (arrays["tokens"], arrays["offsets"])
    return {
        name: Split(*shared, arrays[f"{name}.sequences"], arrays[f"{name}.labels"], manifest["first_id"])
        for name in manifest["splits"]
    }


def _open_array(folder: Path, name: str, said: dict[str, Any]) -> np.ndarray:
    path = array_path(folder, name)
    try:
        found = np.load(regular_file(path), mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} cannot be opened ({error})") from error
    if [str(found.dtype), list(found.shape)] != [said["dtype"], said["shape"]]:
        raise ValueError(
            f"{path} holds {found.dtype} {list(found.shape)}, the manifest says {said['dtype']} {said['shape']}"
        )
    return np.asarray(found)


def array_path(folder: Path, name: str) -> Path:
    """File of an array of a store."""
    return folder / f"{name}.npy"


def check_asked(manifest: dict[str, Any], folder: Path, settings: dict[str, Any], source: str) -> None:
    """Refuse a store of another version or other settings, or, unless `source=auto`, from another source.

    Raises:
        UserError: with what differs and what to type.
    """
    was, now = dict(manifest["asked"]["settings"]), dict(settings)
    task = importlib.import_module(f"lra.data.{folder.parent.name}")
    was["version"], now["version"] = manifest["builder"].rsplit("/", 1)[-1], task.VERSION
    was["source"], now["source"] = manifest["asked"]["source"], source
    if source == "auto":
        now["source"] = was["source"]
    for key in sorted(was.keys() | now.keys()):
        if was.get(key) != now.get(key):
            raise UserError(
                f"{folder} was made with {key}={was.get(key)}, but {key}={now.get(key)} is asked for;"
                f" to replace it: lra prepare {_arguments(folder)} source={source} force=true"
            )


def verify_store(folder: Path) -> None:
    """Hash every array again.

    Raises:
        UserError: at the first that is not what the manifest says.
    """
    for name, said in read_manifest(folder)["arrays"].items():
        path = array_path(folder, name)
        if not path.exists() or sha256(regular_file(path)) != said["sha256"]:
            raise UserError(f"{path} is not what it was when it was made; {_again(folder)}")


def sha256(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _arguments(folder: Path) -> str:
    return f"task={folder.parent.name} size={folder.name}"


def _again(folder: Path) -> str:
    return f"make it again: lra prepare {_arguments(folder)} force=true"
