"""Read the packed token store: flat memory-mapped arrays, described by a manifest.

A store is a folder with these files:

- `manifest.json`
- `tokens.npy`: all sequences, concatenated; a sequence of several examples is stored once.
- `offsets.npy`: int64; sequence i is `tokens[offsets[i]:offsets[i + 1]]`.
- `<split>.sequences.npy`: `[examples, N]`, the numbers of each example's sequences.
- `<split>.labels.npy`: `[examples]`.

The splits are train, test and, if the dataset has one, dev. A token id is the stored number plus the manifest's
`first_id`: bytes are stored unchanged, and become the ids 1 to 256.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tokenize import TokenError

import numpy as np

from lra.base.files import regular_file, sha256
from lra.base.protocol import DevSplit
from lra.data.manifest import ArrayFacts, Manifest, read_manifest
from lra.data.prepare_again import make_again
from lra.types import TaskSpec, UserError

HELD_OUT = 0.1  # fraction of the training split
SEED = 0  # seed that selects the held-out examples; the same for all runs, so that all have the same dev split


@dataclass(frozen=True)
class Split:
    """One split of a store, or a part of one.

    Attributes:
        tokens: the stored numbers of all sequences, uint8 or uint16, memory-mapped; plus `first_id` they are ids.
        offsets: where each sequence begins in `tokens`, and the end of the last one.
        sequences: `[examples, N]`, numbers of the sequences.
        longest: number of tokens that are used, from the beginning of a sequence; None: all.
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

    def subset(self, chosen: np.ndarray) -> Split:
        """Select the examples with the numbers `chosen`, in this order; the tokens are shared."""
        return replace(self, sequences=self.sequences[chosen], labels=self.labels[chosen])

    def example(self, index: int) -> tuple[list[np.ndarray], int]:
        """Return the stored numbers of an example's N sequences, and its label."""
        bounds = [self.offsets[number : number + 2] for number in self.sequences[index].tolist()]
        return [np.asarray(self.tokens[a:b][: self.longest]) for a, b in bounds], int(self.labels[index])


@dataclass(frozen=True)
class Store:
    """An opened store: its manifest and its splits."""

    manifest: Manifest
    splits: dict[str, Split]


def open_store(folder: Path, spec: TaskSpec) -> Store:
    """Open the store in `folder` without reading the tokens.

    Raises:
        UserError: when the store was made for another spec, an array does not match the manifest, or offsets, sequence
            numbers or labels are out of range.
    """
    manifest = read_manifest(folder)
    was, now = dict(manifest["spec"]), asdict(spec)
    for key in now:
        if was[key] != now[key]:
            line = f"{folder} was made with {key}={was[key]}, but {key}={now[key]} is asked for; {make_again(folder)}"
            raise UserError(line, kind="other_data", key=key, value=was[key], right=now[key])
    try:
        paths = {name: regular_file(folder / f"{name}.npy") for name in manifest["arrays"]}
        arrays = {name: _open_array(paths[name], facts) for name, facts in manifest["arrays"].items()}
        _check_structure(folder, manifest, arrays)
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing; {make_again(folder)}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{error}; {make_again(folder)}") from error
    shared = (arrays["tokens"], arrays["offsets"])
    splits = {
        name: Split(*shared, arrays[f"{name}.sequences"], arrays[f"{name}.labels"], manifest["first_id"])
        for name in manifest["splits"]
    }
    return Store(manifest, splits)


def without_token(splits: Mapping[str, Split], token: int) -> dict[str, Split]:
    """Leave a stored number out of every sequence of a store's splits; the tokens are copied to memory without it."""
    shared = next(iter(splits.values()))
    is_left_out = shared.tokens == token
    tokens = shared.tokens[~is_left_out]
    offsets = shared.offsets - np.searchsorted(np.flatnonzero(is_left_out), shared.offsets)
    return {name: replace(split, tokens=tokens, offsets=offsets) for name, split in splits.items()}


def _open_array(path: Path, facts: ArrayFacts) -> np.ndarray:
    try:
        opened = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, TypeError, TokenError, EOFError) as error:  # TypeError, TokenError: a damaged header
        raise ValueError(f"{path} cannot be opened ({error})") from error
    if [str(opened.dtype), list(opened.shape)] != [facts["dtype"], facts["shape"]]:
        raise ValueError(
            f"{path} holds {opened.dtype} {list(opened.shape)}, the manifest says {facts['dtype']} {facts['shape']}"
        )
    return np.asarray(opened)


def _check_structure(folder: Path, manifest: Manifest, arrays: dict[str, np.ndarray]) -> None:
    """Check that offsets, sequence numbers and labels are in range, in a few milliseconds; tokens are not read."""
    offsets, end = arrays["offsets"], len(arrays["tokens"])
    lengths = np.diff(offsets)
    if not len(lengths) or offsets[0] != 0 or offsets[-1] != end or lengths.min() < 0:
        raise ValueError(f"{array_path(folder, 'offsets')} does not rise from 0 to the {end} tokens")
    if lengths.max() > manifest["max_length"]:
        raise ValueError(
            f"{array_path(folder, 'offsets')} has a sequence of {lengths.max()} tokens, the manifest says at most"
            f" {manifest['max_length']}"
        )
    for split in manifest["splits"]:
        for what, count in (("sequences", len(lengths)), ("labels", manifest["spec"]["num_classes"])):
            numbers = arrays[f"{split}.{what}"]
            if numbers.min() < 0 or numbers.max() >= count:
                raise ValueError(
                    f"{array_path(folder, f'{split}.{what}')} holds {numbers.min()} to {numbers.max()},"
                    f" but only 0 to {count - 1} are there"
                )


def array_path(folder: Path, name: str) -> Path:
    """Return the file of an array in a store."""
    return folder / f"{name}.npy"


def verify_store(folder: Path) -> None:
    """Compare the hash of every array with the manifest.

    Raises:
        UserError: at the first array that has changed.
    """
    for name, facts in read_manifest(folder)["arrays"].items():
        path = array_path(folder, name)
        if not path.exists() or sha256(path) != facts["sha256"]:
            line = f"{path} has changed since it was made; {make_again(folder)}"
            raise UserError(line, kind="changed_file", key=path.name)


def with_dev(splits: dict[str, Split], dev_split: DevSplit) -> dict[str, Split]:
    """Return the splits train, dev and test.

    Args:
        splits: the splits of the store.
        dev_split: `own`: the store's dev split. `test`: the test split, as the paper did for a dataset without a dev
            split; the reported accuracy is then that of the checkpoint that is best on the test split. `held_out`: a
            tenth of the training split, with the same fraction of every label, which is then not trained on.

    Raises:
        UserError: for `own` if the store has no dev split, and for `held_out` if a tenth of each
            label's examples is less than one.
    """
    if dev_split == "own":
        if "dev" not in splits:
            raise UserError("dev_split=own, but the store has no dev split; type task.dev_split=held_out")
        return splits
    if dev_split == "test":
        return {**splits, "dev": splits["test"]}
    assert dev_split == "held_out", dev_split
    kept, held_out = stratified(np.asarray(splits["train"].labels), HELD_OUT, SEED)
    if not len(held_out):
        raise UserError(
            f"dev_split=held_out takes a tenth of each label's examples, which is none of {len(kept)}; give at least 6"
            " training examples of a label, or type task.dev_split=test"
        )
    return {**splits, "train": splits["train"].subset(kept), "dev": splits["train"].subset(held_out)}


def stratified(labels: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Select `fraction` of each label's examples, rounded; return the numbers of the others and of the selected."""
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        indices = np.flatnonzero(labels == label)
        held_out[rng.permutation(indices)[: round(fraction * len(indices))]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
