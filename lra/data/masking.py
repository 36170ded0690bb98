"""Hide positions of batches for self-pretraining; what is hidden depends on the seed and on the batch's number alone.

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

HIDDEN_IN_TRAIN, HIDDEN_IN_DEV = 0x6D61736B, 0x64657673  # tell these draws from others of the same seed
# Makes of a batch, and of what is hidden, `[B, N, L]`, what a model is trained on.
Hide = Callable[[Batch, Tensor], Batch]


@dataclass(frozen=True, kw_only=True)
class Masking:
    """How much is hidden.

    Attributes:
        fraction: the expected fraction of the real positions, in (0, 1); each is drawn by itself, or each span.
        span: length of the spans that are hidden together; 1: single positions.
    """

    fraction: float
    span: int = 1

    def draw(self, valid_NL: np.ndarray, seed: tuple[int, ...]) -> np.ndarray:
        """Draw what is hidden of one example, `[N, L]` bool; padding, where `valid_NL` is False, never is.

        Single positions are hidden with probability `fraction`. A span begins at a position with the probability that
        hides, of a long sequence, the same fraction: 1 − (1 − fraction)^(1 / span). If nothing would be hidden of an
        example with real positions, the one with the least draw is, so that each example has something to learn from.
        """
        draws = np.random.default_rng(seed).random(valid_NL.shape)
        draws[~valid_NL] = 1
        hidden: np.ndarray = draws < 1 - (1 - self.fraction) ** (1 / self.span)
        if self.span > 1:
            begun = np.cumsum(hidden, axis=1)
            begun[:, self.span :] -= begun[:, : -self.span].copy()
            hidden = (begun > 0) & valid_NL
        if valid_NL.any() and not hidden.any():
            hidden.ravel()[draws.argmin()] = True
        return hidden

    def hidden(self, batch: Batch, seeds: Sequence[tuple[int, ...]]) -> Tensor:
        """Draw what is hidden of a batch, `[B, N, L]` bool on the batch's device; each example has its own seed."""
        shape = batch.tokens.shape
        valid = np.ones(shape, bool) if batch.valid is None else batch.valid.cpu().numpy()
        hidden = np.stack([self.draw(valid_NL, seed) for valid_NL, seed in zip(valid, seeds, strict=True)])
        return torch.from_numpy(hidden).to(batch.tokens.device, non_blocking=True)


def hides(masking: Masking, hide: Hide, *seed: int) -> Change:
    """Make the function that hides positions of a loader's batches, by the seed and the place of each example."""

    def change(batch: Batch, places: range) -> Batch:
        return hide(batch, masking.hidden(batch, [(*seed, place) for place in places]))

    return change


class MaskedDataModule(StoreDataModule):
    """A LightningDataModule whose training and dev batches have positions hidden.

    What is hidden of the example at place i of the endless stream of the training depends on the seed and i: it is the
    same however a batch is split over processes and parts. Of an example of dev it is always the same, whatever the
    run's seed.

    Args:
        masking: how much is hidden.
        hide: makes what a model is trained on.
        others: those of `StoreData`.
    """

    def __init__(self, *, masking: Masking, hide: Hide, **others: Any):
        super().__init__(**others)
        self.masking, self.hide = masking, hide

    def train_dataloader(self) -> TrainLoader:
        """Make the loader of the training batches, with this process's share of each batch."""
        loader = super().train_dataloader()
        loader.change = hides(self.masking, self.hide, self.seed, HIDDEN_IN_TRAIN)
        return loader

    def val_dataloader(self) -> EvalLoader:
        """Make the loader of this process's dev batches."""
        loader = super().val_dataloader()
        loader.change = hides(self.masking, self.hide, HIDDEN_IN_DEV)
        return loader
