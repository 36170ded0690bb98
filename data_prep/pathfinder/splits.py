"""Split images 80/10/10 that have no splits of their own."""

from __future__ import annotations

import numpy as np
import torch

from lra.data.manifest import SPLITS


def split_numbers(count: int, how: str, seed: int) -> dict[str, np.ndarray]:
    """Choose the numbers of the images of train, dev and test, each in order.

    Args:
        count: number of all images; a tenth, rounded down, is for dev and a tenth for test.
        how: `permutation`: drawn from `seed`; `seed42`: the split of S4 and Mega, torch's `random_split` with seed 42.
        seed: seed of the permutation.
    """
    assert how in ("permutation", "seed42"), how
    if how == "permutation":
        order = np.random.default_rng(seed).permutation(count)
    else:
        order = torch.randperm(count, generator=torch.Generator().manual_seed(42)).numpy()
    tenth = count // 10
    ends = (0, count - 2 * tenth, count - tenth, count)
    return {name: np.sort(order[a:b]) for name, a, b in zip(SPLITS, ends, ends[1:], strict=False)}
