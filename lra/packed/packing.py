"""The packed (unpadded, varlen) form of a batch: its real tokens one after the other, so that no padding is computed.

The sequences stand longest first, so that neighbours are of similar length.

Letters: B sequences, L positions, T real tokens of all sequences, P planes, D = H·E width, H heads, W tokens of one
sequence.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor


class Packing:
    """Where each packed token stands in the padded batch.

    Args:
        valid_BL: `[B, L]` bool, True at real tokens (it may have holes); None when every position is real.
        batch: B.
        length: L.
    """

    def __init__(self, valid_BL: Tensor | None, *, batch: int, length: int):
        self.batch, self.length = batch, length
        self.valid_BL, self.whole = valid_BL, valid_BL is None
        if valid_BL is None:
            self.counts_B = torch.full((batch,), length)
            self.order_B = torch.arange(batch)
            self.place_T = torch.arange(batch * length)
        else:
            counts = valid_BL.sum(1)
            self.order_B = counts.argsort(descending=True, stable=True)
            self.counts_B = counts[self.order_B]
            place_T = valid_BL[self.order_B].flatten().nonzero()[:, 0]
            self.place_T = self.order_B[place_T // length] * length + place_T % length
        self.counts: list[int] = self.counts_B.tolist()
        self.segments: dict[tuple[int, str], Any] = {}  # what the layers of one pass share
        self.layouts: dict[int, Any] = {}

    @cached_property
    def position_T(self) -> Tensor:
        """Position of each token in its sequence, in [0, L)."""
        return self.place_T % self.length

    @cached_property
    def sequence_T(self) -> Tensor:
        """Place of each token's sequence among the packed ones, in [0, B)."""
        return torch.arange(self.batch).repeat_interleave(self.counts_B)

    @cached_property
    def rank_T(self) -> Tensor:
        """How many real tokens of its sequence stand before each token."""
        return torch.arange(len(self.place_T)) - (self.counts_B.cumsum(0) - self.counts_B)[self.sequence_T]

    @cached_property
    def has_holes(self) -> bool:
        """True where padding stands before a real token."""
        return not self.whole and not self.position_T.equal(self.rank_T)

    @cached_property
    def used(self) -> int:
        """How many sequences have a real token: the first ones."""
        return sum(count > 0 for count in self.counts)

    def by_head(self, x_TD: Tensor, heads: int) -> tuple[Tensor, ...]:
        """Each used sequence's tokens as a view `[H, W, E]`."""
        x_HTE = x_TD.unflatten(1, (heads, -1)).transpose(0, 1)
        views: tuple[Tensor, ...] = x_HTE.split(self.counts[: self.used], dim=1)
        return views

    def pack(self, x_BL: Tensor) -> Tensor:
        """Real tokens' entries of `[B, L]`, as `[T]`, or their rows of `[B, L, D]`, as `[T, D]`."""
        flat = x_BL.flatten(0, 1)
        return flat if self.whole else flat.index_select(0, self.place_T)

    def unpack(self, x_PTD: Tensor) -> Tensor:
        """From planes `[P, T, D]` to `[P, B, L, D]`, zeros at padding."""
        if not self.whole:
            rows = x_PTD.new_zeros(len(x_PTD), self.batch * self.length, x_PTD.shape[2])
            x_PTD = rows.index_copy(1, self.place_T, x_PTD)
        x_PBLD: Tensor = x_PTD.unflatten(1, (self.batch, self.length))
        return x_PBLD

    def unsort(self, x_BD: Tensor) -> Tensor:
        """One row per packed sequence, back in the batch's order."""
        return x_BD if self.whole else x_BD.new_empty(x_BD.shape).index_copy(0, self.order_B, x_BD)
