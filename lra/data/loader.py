"""Batches of a split. In training, batch k depends on the seed and on k alone; in evaluation, examples come in order.

Plain iterables in this process: the arrays are memory-mapped, and on small machines a worker process costs more than
the batch that it fetches.

Letters: B examples, N sequences per example, L positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from lra.data.store import Split
from lra.types import Batch, TaskSpec


class Collator:
    """Turns example numbers into a padded batch.

    Args:
        split: where the examples lie.
        spec: the task.
        mask_zero: True when token 0 is padding wherever it stands; False when every position is real.
    """

    def __init__(self, split: Split, spec: TaskSpec, *, mask_zero: bool):
        self.split, self.spec, self.mask_zero = split, spec, mask_zero
        lengths = np.diff(split.offsets)
        self.rectangle = None  # sequences that are all full, as pixels are, need no padding
        if split.first_id == 0 and len(lengths) and (lengths == spec.seq_len).all():
            self.rectangle = split.tokens.reshape(-1, spec.seq_len)

    def __call__(self, indices: np.ndarray) -> Batch:
        """The examples `indices` `[B]` as a batch; sequences longer than L are cut."""
        split = self.split
        ids = torch.from_numpy(self._padded(split.sequences[indices].ravel()))
        ids = ids.view(len(indices), self.spec.num_sequences, self.spec.seq_len)
        labels = torch.from_numpy(split.labels[indices].astype(np.int64))
        return Batch(ids.long(), ids != 0 if self.mask_zero else None, labels)

    def _padded(self, sequences: np.ndarray) -> np.ndarray:
        """Ids `[sequences, L]`, in as few bytes as hold them."""
        split, length = self.split, self.spec.seq_len
        longest = min(length, split.longest or length)
        if self.rectangle is not None:
            return np.asarray(self.rectangle[sequences])
        starts, ends = split.offsets[sequences].tolist(), split.offsets[sequences + 1].tolist()
        padded = np.zeros((len(sequences), length), np.int32)
        for row, start, end in zip(padded, starts, ends, strict=True):
            used = min(end - start, longest)
            row[:used] = split.tokens[start : start + used]
            if split.first_id:
                row[:used] += split.first_id
        return padded


class TrainLoader:
    """A given number of training batches, shuffled; batch k is a function of (seed, k) alone.

    The examples of one permutation after the other make one endless stream, of which batch k is the k-th piece. It
    counts what it has handed out, so that Lightning can store and restore the place (`state_dict`).

    Args:
        collate: makes a batch from example numbers.
        batch_size: examples per batch, over all ranks.
        num_batches: how many batches there are.
        seed: of the order.
        rank: this process, which gets its share of every batch.
        world_size: how many processes share a batch.
    """

    def __init__(
        self, collate: Collator, *, batch_size: int, num_batches: int, seed: int, rank: int = 0, world_size: int = 1
    ):
        assert batch_size % world_size == 0, f"batch_size={batch_size} over {world_size} processes"
        self.collate, self.batch_size, self.num_batches, self.seed = collate, batch_size, num_batches, seed
        self.rank, self.world_size = rank, world_size
        self.position = 0
        self._permutations: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        """Number of batches."""
        return self.num_batches

    def __iter__(self) -> Iterator[Batch]:
        """The batches from the current position on."""
        while self.position < self.num_batches:
            self.position += 1
            yield self.batch(self.position - 1)

    def batch(self, k: int) -> Batch:
        """Batch k, this rank's share."""
        share = self.batch_size // self.world_size
        first = k * self.batch_size + self.rank * share
        return self.collate(self._examples(first, first + share))

    def _examples(self, first: int, end: int) -> np.ndarray:
        """The examples `first` to `end - 1` of the endless stream."""
        count = len(self.collate.split)
        pieces = []
        while first < end:
            pass_, place = divmod(first, count)
            pieces.append(self._permutation(pass_)[place : place + end - first])
            first += len(pieces[-1])
        return np.concatenate(pieces)

    def _permutation(self, pass_: int) -> np.ndarray:
        """The order of a pass; this and the last one are kept."""
        if pass_ not in self._permutations:
            self._permutations = {p: order for p, order in self._permutations.items() if p == pass_ - 1}
            self._permutations[pass_] = np.random.default_rng([self.seed, pass_]).permutation(len(self.collate.split))
        return self._permutations[pass_]

    def state_dict(self) -> dict[str, int]:
        """How many batches were handed out."""
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on after that many."""
        self.position = state["position"]


class EvalLoader:
    """Every example once, in the store's order; the last batch may be smaller.

    Args:
        collate: makes a batch from example numbers.
        batch_size: examples per batch.
        drop_last: leave a smaller last batch out, as the paper's code does with the test split.
        rank: this process, which gets the batches numbered rank, rank + world_size, …
        world_size: how many processes share the batches.
    """

    def __init__(
        self, collate: Collator, *, batch_size: int, drop_last: bool = False, rank: int = 0, world_size: int = 1
    ):
        self.collate, self.batch_size = collate, batch_size
        self.rank, self.world_size = rank, world_size
        count = len(collate.split)
        self.num_examples = count - count % batch_size if drop_last else count

    def __len__(self) -> int:
        """Number of batches of this process."""
        return len(range(self.rank * self.batch_size, self.num_examples, self.world_size * self.batch_size))

    def __iter__(self) -> Iterator[Batch]:
        """From the first example to the last."""
        for start in range(self.rank * self.batch_size, self.num_examples, self.world_size * self.batch_size):
            yield self.collate(np.arange(start, min(start + self.batch_size, self.num_examples)))
