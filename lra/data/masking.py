"""Mask positions of batches for self-pretraining; what is masked depends on the seed and on the batch's number alone.

Letters: B examples, N sequences per example, L positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lra.data.datamodule import StoreDataModule
from lra.data.loader import Change, EvalLoader, TrainLoader
from lra.types import Batch

MASKED_IN_TRAIN, MASKED_IN_DEV = 0x6D61736B, 0x64657673  # tell these draws from others of the same seed
# Makes of a batch, and of what is masked, `[B, N, L]`, what a model is trained on.
ApplyMask = Callable[[Batch, Tensor], Batch]


@dataclass(frozen=True, kw_only=True)
class Masking:
    """How much is masked.

    Attributes:
        fraction: the expected fraction of the real positions, in (0, 1); each is drawn by itself, or each span.
        span: length of the spans that are masked together; 1: single positions.
    """

    fraction: float
    span: int = 1

    def draw(self, valid_NL: np.ndarray, seed: tuple[int, ...]) -> np.ndarray:
        """Draw what is masked of one example, `[N, L]` bool; padding, where `valid_NL` is False, never is.

        Single positions are masked with probability `fraction`. A span begins at a position with the probability that
        masks, of a long sequence, the same fraction: 1 − (1 − fraction)^(1 / span). If nothing would be masked of an
        example with real positions, the one with the least draw is, so that each example has something to learn from.
        """
        draws = np.random.default_rng(seed).random(valid_NL.shape)
        draws[~valid_NL] = 1
        masked: np.ndarray = draws < 1 - (1 - self.fraction) ** (1 / self.span)
        if self.span > 1:
            begun = np.cumsum(masked, axis=1)
            begun[:, self.span :] -= begun[:, : -self.span].copy()
            masked = (begun > 0) & valid_NL
        if valid_NL.any() and not masked.any():
            masked.ravel()[draws.argmin()] = True
        return masked

    def masked(self, batch: Batch, seeds: Sequence[tuple[int, ...]]) -> Tensor:
        """Draw what is masked of a batch, `[B, N, L]` bool on the batch's device; each example has its own seed."""
        shape = batch.tokens.shape
        valid = np.ones(shape, bool) if batch.valid is None else batch.valid.cpu().numpy()
        masked = np.stack([self.draw(valid_NL, seed) for valid_NL, seed in zip(valid, seeds, strict=True)])
        return torch.from_numpy(masked).to(batch.tokens.device, non_blocking=True)


def mask_batches(masking: Masking, apply_mask: ApplyMask, *seed: int) -> Change:
    """Make the function that masks positions of a loader's batches, by the seed and the place of each example."""

    def change(batch: Batch, places: range) -> Batch:
        return apply_mask(batch, masking.masked(batch, [(*seed, place) for place in places]))

    return change


class MaskedDataModule(StoreDataModule):
    """A LightningDataModule whose training and dev batches have positions masked.

    What is masked of the example at place i of the endless stream of the training depends on the seed and i: it is the
    same however a batch is split over processes and parts. Of an example of dev it is always the same, whatever the
    run's seed.

    Args:
        masking: how much is masked.
        apply_mask: makes what a model is trained on.
        others: those of `StoreData`.
    """

    def __init__(self, *, masking: Masking, apply_mask: ApplyMask, **others: Any):
        super().__init__(**others)
        self.masking, self.apply_mask = masking, apply_mask

    def train_dataloader(self) -> TrainLoader:
        """Make the loader of the training batches, with this process's share of each batch."""
        loader = super().train_dataloader()
        loader.change = mask_batches(self.masking, self.apply_mask, self.seed, MASKED_IN_TRAIN)
        return loader

    def val_dataloader(self) -> EvalLoader:
        """Make the loader of this process's dev batches."""
        loader = super().val_dataloader()
        loader.change = mask_batches(self.masking, self.apply_mask, MASKED_IN_DEV)
        return loader
