"""Batches with the real lengths of each task, contents at random: no prepared data needed."""

import numpy as np
import torch

from lra.types import Batch, TaskSpec

# Tenths of the number of real tokens in the train splits: generated ListOps, IMDb, Retrieval's stand-in (the
# benchmark's documents may be longer), non-black pixels of 3,400 generated Pathfinder images. Image has .2 % black
# pixels.
TENTHS = {
    "listops": (501, 579, 661, 749, 847, 955, 1078, 1224, 1405, 1645, 1999),
    "text": (52, 512, 664, 742, 843, 979, 1160, 1429, 1853, 2617, 4000),
    "retrieval": (41, 499, 661, 736, 833, 960, 1128, 1375, 1777, 2500, 4000),
    "pathfinder": (222, 301, 317, 328, 339, 350, 359, 370, 383, 401, 496),
    "image": (1000, 1018, 1022, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024),
}


def batch_of(spec: TaskSpec, size: int) -> Batch:
    """Evenly spread over the lengths, so that every batch has the same work; pixels are real at random places."""
    count = size * spec.num_sequences
    lengths = np.interp(np.linspace(0, 10, count), np.arange(11), TENTHS[spec.name]).astype(int)
    rng = np.random.default_rng(0)
    rng.shuffle(lengths)
    tokens = torch.from_numpy(rng.integers(1, 15, (count, spec.seq_len)))
    order = torch.arange(spec.seq_len).expand(count, -1)
    if spec.name in ("image", "pathfinder"):
        order = torch.from_numpy(rng.random((count, spec.seq_len))).argsort(1).argsort(1)
    tokens[order >= torch.from_numpy(lengths)[:, None]] = 0
    tokens = tokens.view(size, spec.num_sequences, spec.seq_len)
    return Batch(tokens, tokens != 0, torch.from_numpy(rng.integers(0, spec.num_classes, size)))
