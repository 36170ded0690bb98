"""Load the batches of a split. In training, batch k depends on the seed and k alone; in evaluation, order is kept.

The loaders run in the training process: the arrays are memory-mapped, so a worker process would cost more time than it
saves on a small machine.

Letters: B examples, N sequences per example, L positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from lra.data.device_store import DeviceCollator, numbers_on
from lra.data.store import Split
from lra.types import Batch, TaskSpec


class Collator:
    """Makes a padded batch, in main memory, of the examples with given numbers.

    Args:
        split: the split with the examples.
        spec: facts about the task.
        mask_zero: whether token 0 is padding at all positions; if not, no position is masked.
    """

    device = torch.device("cpu")

    def __init__(self, split: Split, spec: TaskSpec, *, mask_zero: bool):
        self.split, self.spec, self.mask_zero = split, spec, mask_zero
        lengths = np.diff(split.offsets)
        self.rectangle = None  # view of the tokens as `[sequences, L]`, if all sequences have length L, as images do
        if split.first_id == 0 and len(lengths) and (lengths == spec.seq_len).all():
            self.rectangle = split.tokens.reshape(-1, spec.seq_len)

    def __call__(self, indices: Tensor | np.ndarray) -> Batch:
        """Make a batch of the examples `indices` `[B]`; sequences longer than L are cut."""
        split, indices = self.split, np.asarray(indices)
        ids = torch.from_numpy(self._padded(split.sequences[indices].ravel()))
        ids = ids.view(len(indices), self.spec.num_sequences, self.spec.seq_len)
        labels = torch.from_numpy(split.labels[indices].astype(np.int64))
        return Batch(ids.long(), ids != 0 if self.mask_zero else None, labels)

    def _padded(self, sequences: np.ndarray) -> np.ndarray:
        """Read the ids of some sequences, padded to `[sequences, L]`."""
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
    """Iterates over a given number of shuffled training batches; batch k depends on the seed and k alone.

    One random permutation of the examples after the other forms an endless stream, and batch k is its k-th piece. The
    loader counts its batches, so that Lightning can save and restore the position (`state_dict`).

    Args:
        collate: makes a batch from example numbers, which are on its device.
        batch_size: examples per batch, over all processes.
        num_batches: number of batches.
        seed: seed of the order.
        rank: rank of this process, which gets its share of every batch.
        world_size: number of processes that share a batch.
    """

    def __init__(
        self,
        collate: Collator | DeviceCollator,
        *,
        batch_size: int,
        num_batches: int,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
    ):
        assert batch_size % world_size == 0, f"batch_size={batch_size} over {world_size} processes"
        self.collate, self.batch_size, self.num_batches, self.seed = collate, batch_size, num_batches, seed
        self.rank, self.world_size = rank, world_size
        self.position = 0
        self._permutations: dict[int, Tensor] = {}

    def __len__(self) -> int:
        """Number of batches."""
        return self.num_batches

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches from the current position on."""
        while self.position < self.num_batches:
            self.position += 1
            yield self.batch(self.position - 1)

    def batch(self, k: int) -> Batch:
        """Make this process's share of batch k."""
        share = self.batch_size // self.world_size
        first = k * self.batch_size + self.rank * share
        return self.collate(self._examples(first, first + share))

    def _examples(self, first: int, end: int) -> Tensor:
        """Return the examples `first` to `end - 1` of the endless stream."""
        count = len(self.collate.split)
        pieces = []
        while first < end:
            pass_, place = divmod(first, count)
            pieces.append(self._permutation(pass_)[place : place + end - first])
            first += len(pieces[-1])
        return torch.cat(pieces)

    def _permutation(self, pass_: int) -> Tensor:
        """Return the order of a pass over the split; it and the order of the previous pass are cached.

        It is drawn on the host whatever the device, so that a seed means one order.
        """
        if pass_ not in self._permutations:
            self._permutations = {p: order for p, order in self._permutations.items() if p == pass_ - 1}
            order = np.random.default_rng([self.seed, pass_]).permutation(len(self.collate.split))
            self._permutations[pass_] = numbers_on(self.collate.device, order)
        return self._permutations[pass_]

    def state_dict(self) -> dict[str, int]:
        """Return the position: the number of batches that were yielded."""
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Restore the position."""
        self.position = state["position"]


class EvalLoader:
    """Iterates over a split once, in the store's order; the last batch may be smaller.

    Args:
        collate: makes a batch from example numbers, which are on its device.
        batch_size: examples per batch.
        drop_last: whether a smaller last batch is left out, as in the released code's test.
        rank: rank of this process, which gets the batches rank, rank + world_size, …
        world_size: number of processes that share the batches.
    """

    def __init__(
        self,
        collate: Collator | DeviceCollator,
        *,
        batch_size: int,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
    ):
        self.collate, self.batch_size = collate, batch_size
        self.rank, self.world_size = rank, world_size
        count = len(collate.split)
        self.num_examples = count - count % batch_size if drop_last else count

    def __len__(self) -> int:
        """Number of batches of this process."""
        return len(range(self.rank * self.batch_size, self.num_examples, self.world_size * self.batch_size))

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches in order."""
        for start in range(self.rank * self.batch_size, self.num_examples, self.world_size * self.batch_size):
            end = min(start + self.batch_size, self.num_examples)
            yield self.collate(torch.arange(start, end, device=self.collate.device))
