"""Keep a store in the memory of the training device, and make its batches there.

The batches are those of `lra.data.loader.Collator`, to the last bit. Making one reads no number back from the device,
and no shape depends on the data: host and GPU do not wait for each other.

Letters: B examples, N sequences per example, L positions, E examples of a split, T stored tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from lra.data.store import Split
from lra.types import Batch, TaskSpec, UserError

LOW_BITS = 0xFFFF  # makes a uint16 again of an int16, in which a GPU keeps it: torch gathers few unsigned types
PIECE = 2**25  # tokens that are copied at a time, so that main memory never holds the whole store


class DeviceCollator:
    """Makes a padded batch, on the device, of the examples with given numbers; `lra.data.loader.Collator` is its twin.

    Args:
        split: the split with the examples.
        tokens_T: the stored numbers of all sequences on the device, with at least L more numbers behind them.
        spec: facts about the task.
        mask_zero: whether token 0 is padding at all positions; if not, no position is masked.
    """

    def __init__(self, split: Split, tokens_T: Tensor, spec: TaskSpec, *, mask_zero: bool):
        self.split, self.mask_zero, self.device = split, mask_zero, tokens_T.device
        self._tokens_T = tokens_T
        longest = min(spec.seq_len, split.longest or spec.seq_len)
        used = np.minimum(np.diff(split.offsets), longest)
        self._starts_EN = numbers_on(self.device, split.offsets[split.sequences])
        self._used_EN = numbers_on(self.device, used[split.sequences])
        self._labels_E = numbers_on(self.device, split.labels)
        self._positions_L = torch.arange(spec.seq_len, device=self.device)

    def __call__(self, indices_B: Tensor) -> Batch:
        """Make a batch of the examples `indices_B`, numbers on the device; sequences longer than L are cut."""
        places_BNL = self._starts_EN[indices_B].unsqueeze(-1) + self._positions_L
        unused_BNL = self._positions_L >= self._used_EN[indices_B].unsqueeze(-1)
        ids_BNL = self._tokens_T[places_BNL].long()
        if self._tokens_T.dtype == torch.int16:
            ids_BNL &= LOW_BITS
        if self.split.first_id:
            ids_BNL += self.split.first_id
        ids_BNL.masked_fill_(unused_BNL, 0)
        return Batch(ids_BNL, ids_BNL != 0 if self.mask_zero else None, self._labels_E[indices_B])


def device_collators(
    splits: Mapping[str, Split], spec: TaskSpec, *, mask_zero: bool, device: torch.device
) -> dict[str, DeviceCollator]:
    """Copy a store to a device, and make the collator of each split.

    Args:
        splits: the splits of one store by name; they share its tokens.
        spec: facts about the task.
        mask_zero: whether token 0 is padding at all positions.
        device: where to keep the store.

    Raises:
        UserError: when the device does not have that much free memory.
    """
    stored = next(iter(splits.values())).tokens
    assert all(split.tokens is stored for split in splits.values())
    needed, free = _bytes_needed(splits, stored, spec), free_device_bytes(device)
    if free is not None and needed > free:
        raise UserError(
            f"the data of task={spec.name} takes {needed / 1e9:,.3f} GB, but only {free / 1e9:,.3f} GB of {device}'s"
            " memory are free; type trainer.data_on_device=false, which keeps it in main memory",
            kind="no_memory",
            right="trainer.data_on_device=false",
        )
    tokens_T = _copied(stored, behind=spec.seq_len, device=device)
    return {name: DeviceCollator(split, tokens_T, spec, mask_zero=mask_zero) for name, split in splits.items()}


def numbers_on(device: torch.device, numbers: np.ndarray) -> Tensor:
    """Copy whole numbers to a device as int64; the host does not wait until a GPU has them."""
    on_host = torch.from_numpy(np.asarray(numbers, np.int64))
    if device.type == "cuda":  # only from pinned memory is a copy made while the host goes on
        on_host = on_host.pin_memory()
    return on_host.to(device, non_blocking=True)


def free_device_bytes(device: torch.device) -> int | None:
    """Return the free memory of a GPU; None for other devices, whose memory the operating system hands out."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def _bytes_needed(splits: Mapping[str, Split], stored: np.ndarray, spec: TaskSpec) -> int:
    tables = sum(2 * split.sequences.size + split.labels.size for split in splits.values())
    return (len(stored) + spec.seq_len) * stored.itemsize + tables * np.dtype(np.int64).itemsize


def _copied(stored: np.ndarray, *, behind: int, device: torch.device) -> Tensor:
    """Copy the tokens to a device, with zeros behind them: a row of L positions may reach beyond the last token."""
    if stored.dtype == np.uint16:
        stored = stored.view(np.int16)
    dtype = torch.from_numpy(np.empty(0, stored.dtype)).dtype
    tokens_T = torch.zeros(len(stored) + behind, dtype=dtype, device=device)
    for start in range(0, len(stored), PIECE):
        piece = torch.from_numpy(np.array(stored[start : start + PIECE]))
        tokens_T[start : start + len(piece)] = piece
    return tokens_T
