"""Where the dev split comes from, which chooses the checkpoint that is tested."""

from __future__ import annotations

import numpy as np

from lra.data.store import Split
from lra.types import UserError

DEV_SPLITS = ("own", "test", "held_out")
HELD_OUT = 0.1  # fraction of train
SEED = 0  # of the held-out examples: the same for every run, so that runs are compared on the same dev split


def with_dev(splits: dict[str, Split], dev_split: str) -> dict[str, Split]:
    """The splits train, dev and test.

    Args:
        splits: those of the store.
        dev_split: `own`: the store's; `test`: the test split (so did the paper where a dataset has no dev split, and
            the accuracy is then that of the best checkpoint on the test split); `held_out`: a tenth of train, the
            same fraction of every label, no longer trained on.

    Raises:
        UserError: for another value.
    """
    if dev_split not in DEV_SPLITS:
        raise UserError(f"dev_split={dev_split} is not known; choose one of {', '.join(DEV_SPLITS)}")
    if dev_split == "own":
        if "dev" not in splits:
            raise UserError("dev_split=own, but the store has no dev split; type task.dev_split=held_out")
        return splits
    if dev_split == "test":
        return {**splits, "dev": splits["test"]}
    kept, held_out = stratified(np.asarray(splits["train"].labels), HELD_OUT, SEED)
    return {**splits, "train": splits["train"].part(kept), "dev": splits["train"].part(held_out)}


def stratified(labels: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the examples that stay and of those held out, each in order; `fraction` of every label, rounded."""
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        held_out[rng.permutation(places)[: round(fraction * len(places))]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
