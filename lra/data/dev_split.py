"""Choose the dev split, on which the checkpoint to be tested is selected."""

from __future__ import annotations

import numpy as np

from lra.base.protocol import DevSplit
from lra.data.store import Split
from lra.types import UserError

HELD_OUT = 0.1  # fraction of the training split
SEED = 0  # seed that selects the held-out examples; the same for all runs, so that all have the same dev split


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
    return {**splits, "train": splits["train"].part(kept), "dev": splits["train"].part(held_out)}


def stratified(labels: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Select `fraction` of each label's examples, rounded; return the numbers of the others and of the selected."""
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        held_out[rng.permutation(places)[: round(fraction * len(places))]] = True
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
