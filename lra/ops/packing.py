"""Real tokens of a batch, one after the other: what is computed once per token need not be computed for padding.

The sequences stand longest first, so that neighbours are of similar length; groups of them make up products that are
large enough to be fast and small enough to stay in a core's cache.

Letters: B sequences, L positions, T real tokens of all sequences, D any width, G sequences of a group, W the longest
of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

GROUP_ROWS = 4096  # tokens of one group: with 64 landmarks a head's kernel is 1 MiB in float32
EVEN_ENOUGH = 0.8  # a sequence joins a group while it is at least this share of the longest


@dataclass(frozen=True, kw_only=True)
class Group:
    """Neighbouring sequences.

    Attributes:
        sequences: their places among the packed sequences.
        rows: their tokens among the packed tokens.
        counts: real tokens of each, longest first.
    """

    sequences: slice
    rows: slice
    counts: list[int]

    @cached_property
    def even(self) -> bool:
        """True when all have the same number of tokens."""
        return self.counts[0] == self.counts[-1]

    @cached_property
    def _real_GW(self) -> Tensor:
        return torch.arange(self.counts[0]) < torch.tensor(self.counts)[:, None]

    @cached_property
    def _places(self) -> Tensor:
        """Where the tokens stand in `[G · W]`."""
        return self._real_GW.flatten().nonzero()[:, 0]

    @cached_property
    def _tokens(self) -> Tensor:
        """The token at each place of `[G · W]`; at padding some other one."""
        return (self._real_GW.flatten().cumsum(0) - 1).clamp(min=0)

    @cached_property
    def short(self) -> list[tuple[int, int]]:
        """Number and count of each sequence that is shorter than the longest."""
        return [(i, count) for i, count in enumerate(self.counts) if count < self.counts[0]]

    def take(self, x_TE: Tensor, *, zeros: bool = False) -> Tensor:
        """The group's rows as `[G, W, E]`, a view if it is even.

        Beyond a shorter sequence's end stand other rows or, on demand, zeros.
        """
        rows = x_TE[self.rows]
        if not self.even:
            rows = rows.index_select(0, self._tokens)
        out = rows.unflatten(0, (len(self.counts), self.counts[0]))
        if zeros:
            for i, count in self.short:
                out[i, count:] = 0
        return out

    def store_product(self, a_GWK: Tensor, b_GKE: Tensor, out_TE: Tensor) -> None:
        """Write a product where `take` would read it."""
        if self.even:
            torch.bmm(a_GWK, b_GKE, out=self.take(out_TE))
        else:
            torch.index_select(torch.bmm(a_GWK, b_GKE).flatten(0, 1), 0, self._places, out=out_TE[self.rows])


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
    def groups(self) -> list[Group]:
        """All sequences with a real token, in groups of `GROUP_ROWS` tokens or one sequence."""
        groups, first, row, used = [], 0, 0, sum(count > 0 for count in self.counts)
        while first < used:
            longest = self.counts[first]
            last = min(used, first + max(1, GROUP_ROWS // longest))
            counts = [count for count in self.counts[first:last] if count >= EVEN_ENOUGH * longest]
            total = sum(counts)
            groups.append(
                Group(sequences=slice(first, first + len(counts)), rows=slice(row, row + total), counts=counts)
            )
            first, row = first + len(counts), row + total
        return groups

    def pack(self, x_BL: Tensor) -> Tensor:
        """Real tokens' entries of `[B, L]`, as `[T]`."""
        return x_BL.flatten() if self.whole else x_BL.flatten().index_select(0, self.place_T)

    def pack_planes(self, x_PBLE: Tensor) -> Tensor:
        """Real tokens' rows of `[P, B, L, E]`, as `[P, T, E]`."""
        flat = x_PBLE.flatten(1, 2)
        return flat if self.whole else flat.index_select(1, self.place_T)

    def unpack_planes(self, x_PTE: Tensor) -> Tensor:
        """From `[P, T, E]` to `[P, B, L, E]`, zeros at padding."""
        if not self.whole:
            rows = x_PTE.new_zeros(len(x_PTE), self.batch * self.length, x_PTE.shape[2])
            x_PTE = rows.index_copy(1, self.place_T, x_PTE)
        return x_PTE.unflatten(1, (self.batch, self.length))

    def unsort(self, x_BD: Tensor) -> Tensor:
        """One row per packed sequence, back in the batch's order."""
        return x_BD if self.whole else x_BD.new_empty(x_BD.shape).index_copy(0, self.order_B, x_BD)
