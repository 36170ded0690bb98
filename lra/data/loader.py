"""Load the batches of a split, made in main memory, or on the training device from a copy of the store there.

In training, batch k depends on the seed and k alone; in evaluation, order is kept. `DeviceCollator` makes the batches
of `Collator`, to the last bit. Making one reads no number back from the device, and no shape depends on the data: host
and GPU do not wait for each other. The loaders run in the training process: the arrays are memory-mapped, so a worker
process would cost more time than it saves on a small machine.

Letters: B examples, N sequences per example, L positions, E examples of a split, T stored tokens.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lra.base.signals import raise_if_stopped
from lra.data.store import Split
from lra.types import Batch, TaskSpec, UserError

LOW_BITS = 0xFFFF  # makes a uint16 again of an int16, in which a GPU keeps it: torch gathers few unsigned types
COPIED_TOKENS = 2**25  # copied at a time, so that main memory never holds the whole store


@dataclass(frozen=True)
class PixelScale:
    """How real values are made of grey levels: (level / 255 - mean) / std, float32."""

    mean: float
    std: float

    def values(self, levels: Tensor) -> Tensor:
        """Convert levels, 0 to 255."""
        return levels.float().div_(255).sub_(self.mean).div_(self.std)

    def levels(self, values: Tensor) -> Tensor:
        """Convert values back, to int64 levels."""
        return values.mul(self.std).add_(self.mean).mul_(255).round_().long()


class DeviceCollator:
    """Makes a padded batch, on the device, of the examples with given numbers; its reference is `Collator`.

    `tokens_T` are the stored numbers of all sequences on the device, with at least L more numbers behind them. With
    `scale` the tokens are grey levels, of which real values are made.
    """

    def __init__(
        self, split: Split, tokens_T: Tensor, spec: TaskSpec, *, mask_zero: bool, scale: PixelScale | None = None
    ):
        self.split, self.mask_zero, self.scale, self.device = split, mask_zero, scale, tokens_T.device
        self._tokens_T = tokens_T
        longest = min(spec.seq_len, split.longest or spec.seq_len)
        used = np.minimum(np.diff(split.offsets), longest)
        self._starts_EN = int64_on(self.device, split.offsets[split.sequences])
        self._used_EN = int64_on(self.device, used[split.sequences])
        self._labels_E = int64_on(self.device, split.labels)
        self._positions_L = torch.arange(spec.seq_len, device=self.device)

    def __call__(self, indices_B: Tensor) -> Batch:
        """Make a batch of the examples `indices_B`, numbers on the device; sequences longer than L are cut."""
        index_BNL = self._starts_EN[indices_B].unsqueeze(-1) + self._positions_L
        unused_BNL = self._positions_L >= self._used_EN[indices_B].unsqueeze(-1)
        ids_BNL = self._tokens_T[index_BNL].long()
        if self._tokens_T.dtype == torch.int16:
            ids_BNL &= LOW_BITS
        if self.split.first_id:
            ids_BNL += self.split.first_id
        ids_BNL.masked_fill_(unused_BNL, 0)
        inputs_BNL = ids_BNL if self.scale is None else self.scale.values(ids_BNL)
        return Batch(inputs_BNL, ids_BNL != 0 if self.mask_zero else None, self._labels_E[indices_B])


def device_collators(
    splits: Mapping[str, Split],
    spec: TaskSpec,
    *,
    mask_zero: bool,
    device: torch.device,
    scale: PixelScale | None = None,
) -> dict[str, DeviceCollator]:
    """Copy a store, whose splits share its tokens, to a device, and make the collator of each split.

    Raises:
        UserError: when the device does not have that much free memory.
    """
    stored = next(iter(splits.values())).tokens
    assert all(split.tokens is stored for split in splits.values())
    numbers = sum(2 * split.sequences.size + split.labels.size for split in splits.values())
    needed = (len(stored) + spec.seq_len) * stored.itemsize + numbers * np.dtype(np.int64).itemsize
    free = free_device_bytes(device)
    if free is not None and needed > free:
        line = (
            f"the data of task={spec.name} takes {needed / 1e9:,.3f} GB, but only {free / 1e9:,.3f} GB of {device}'s"
            " memory are free; type trainer.data_on_device=false, which keeps it in main memory"
        )
        raise UserError(line, kind="no_memory", right="trainer.data_on_device=false")
    tokens_T = _copied(stored, behind=spec.seq_len, device=device)
    return {
        name: DeviceCollator(split, tokens_T, spec, mask_zero=mask_zero, scale=scale) for name, split in splits.items()
    }


def int64_on(device: torch.device, numbers: np.ndarray) -> Tensor:
    """Copy whole numbers to a device as int64; the host does not wait until a GPU has them."""
    on_host = torch.from_numpy(np.asarray(numbers, np.int64))
    if device.type == "cuda":  # only from pinned memory is a copy made while the host goes on
        on_host = on_host.pin_memory()
    return on_host.to(device, non_blocking=True)


def free_device_bytes(device: torch.device) -> int | None:
    """Return the free memory of a GPU; None for other devices, whose memory the operating system hands out."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def _copied(stored: np.ndarray, *, behind: int, device: torch.device) -> Tensor:
    """Copy the tokens to a device, with zeros behind them: a row of L positions may reach beyond the last token."""
    if stored.dtype == np.uint16:
        stored = stored.view(np.int16)
    dtype = torch.from_numpy(np.empty(0, stored.dtype)).dtype
    tokens_T = torch.zeros(len(stored) + behind, dtype=dtype, device=device)
    for start in range(0, len(stored), COPIED_TOKENS):
        piece = torch.from_numpy(np.array(stored[start : start + COPIED_TOKENS]))
        tokens_T[start : start + len(piece)] = piece
    return tokens_T


class Collator:
    """Makes a padded batch, in main memory, of the examples with given numbers.

    With `mask_zero` token 0 is padding at all positions; without it no position is masked. With `scale` the tokens are
    grey levels, of which real values are made. With `to_longest` a batch is as long as its longest sequence, and not as
    the task's.
    """

    device = torch.device("cpu")

    def __init__(
        self,
        split: Split,
        spec: TaskSpec,
        *,
        mask_zero: bool,
        scale: PixelScale | None = None,
        to_longest: bool = False,
    ):
        self.split, self.spec, self.mask_zero, self.scale, self.to_longest = split, spec, mask_zero, scale, to_longest
        lengths = np.diff(split.offsets)
        self.rectangle = None  # view of the tokens as `[sequences, L]`, if all sequences have length L, as images do
        if split.first_id == 0 and len(lengths) and (lengths == spec.seq_len).all():
            self.rectangle = split.tokens.reshape(-1, spec.seq_len)

    def __call__(self, indices: Tensor | np.ndarray) -> Batch:
        """Make a batch of the examples `indices` `[B]`; sequences longer than L are cut."""
        split, indices = self.split, np.asarray(indices)
        ids = torch.from_numpy(self._padded(split.sequences[indices].ravel()))
        ids = ids.view(len(indices), self.spec.num_sequences, -1)
        labels = torch.from_numpy(split.labels[indices].astype(np.int64))
        inputs = ids.long() if self.scale is None else self.scale.values(ids)
        return Batch(inputs, ids != 0 if self.mask_zero else None, labels)

    def _padded(self, sequences: np.ndarray) -> np.ndarray:
        """Read the ids of some sequences, padded to `[sequences, L]` or to their longest."""
        split, length = self.split, self.spec.seq_len
        longest = min(length, split.longest or length)
        if self.rectangle is not None:
            return np.asarray(self.rectangle[sequences])
        starts, ends = split.offsets[sequences].tolist(), split.offsets[sequences + 1].tolist()
        if self.to_longest:
            length = max(1, min(longest, max(end - start for start, end in zip(starts, ends, strict=True))))
        padded = np.zeros((len(sequences), length), np.int32)
        for row, start, end in zip(padded, starts, ends, strict=True):
            used = min(end - start, longest)
            row[:used] = split.tokens[start : start + used]
            if split.first_id:
                row[:used] += split.first_id
        return padded


# What a loader makes of a batch and the places of its examples: in the endless stream of a training, or in the split.
Change = Callable[[Batch, range], Batch]


def unchanged(batch: Batch, _: range) -> Batch:
    """Return the batch."""
    return batch


class TrainLoader:
    """Iterates over a given number of shuffled training batches; batch k depends on the seed and k alone.

    One random permutation of the examples after the other forms an endless stream, and batch k is its k-th piece. The
    loader counts its batches, so that Lightning can save and restore the position (`state_dict`). `batch_size` is over
    all `world_size` processes; this one, of this rank, gets its share of every batch.

    Attributes:
        change: what is made of each batch.
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
        self.change: Change = unchanged
        self.position = 0
        self._permutations: dict[int, Tensor] = {}

    def __len__(self) -> int:
        """Number of batches."""
        return self.num_batches

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches from the current position on; a signal whose exception a library has caught ends that."""
        while self.position < self.num_batches:
            self.position += 1
            batch = self.batch(self.position - 1)
            raise_if_stopped()
            yield batch

    def batch(self, k: int) -> Batch:
        """Make this process's share of batch k."""
        places = self.places(k)
        return self.change(self.collate(self._examples(places.start, places.stop)), places)

    def places(self, k: int) -> range:
        """Places in the endless stream of this process's share of batch k."""
        share = self.batch_size // self.world_size
        first = k * self.batch_size + self.rank * share
        return range(first, first + share)

    def _examples(self, first: int, end: int) -> Tensor:
        """Return the examples `first` to `end - 1` of the endless stream."""
        count = len(self.collate.split)
        pieces = []
        while first < end:
            epoch, position = divmod(first, count)
            pieces.append(self._permutation(epoch)[position : position + end - first])
            first += len(pieces[-1])
        return torch.cat(pieces)

    def _permutation(self, epoch: int) -> Tensor:
        """Return the order of an epoch; it and the order of the previous epoch are cached.

        It is drawn on the host whatever the device, so that a seed means one order.
        """
        if epoch not in self._permutations:
            self._permutations = {p: order for p, order in self._permutations.items() if p == epoch - 1}
            order = np.random.default_rng([self.seed, epoch]).permutation(len(self.collate.split))
            self._permutations[epoch] = int64_on(self.collate.device, order)
        return self._permutations[epoch]

    def state_dict(self) -> dict[str, int]:
        """Return the position: the number of batches that were yielded."""
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Restore the position."""
        self.position = state["position"]


class EvalLoader:
    """Iterates over a split once, in the store's order; the last batch may be smaller.

    With `drop_last` a smaller last batch is left out, as in the released code's test. A process gets the batches rank,
    rank + world_size, …

    Attributes:
        change: what is made of each batch.
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
        self.change: Change = unchanged
        count = len(collate.split)
        self.num_examples = count - count % batch_size if drop_last else count
        self._starts = range(rank * batch_size, self.num_examples, world_size * batch_size)

    def __len__(self) -> int:
        """Number of batches of this process."""
        return len(self._starts)

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches in order; a signal whose exception a library has caught ends that."""
        for start in self._starts:
            end = min(start + self.batch_size, self.num_examples)
            batch = self.collate(torch.arange(start, end, device=self.collate.device))
            batch = self.change(batch, range(start, end))
            raise_if_stopped()
            yield batch
