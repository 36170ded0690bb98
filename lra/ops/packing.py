"""The packed (unpadded, varlen) form of a batch: its real tokens are concatenated, so that no padding is computed.

The sequences are sorted by length, the longest first, so that neighbours have similar lengths.

Letters: B sequences, L positions, T real tokens of all sequences, P planes, D = H·E width, H heads, E dims per head,
W tokens of one sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar

import torch
from torch import Tensor

GROUP_TOKENS = 2048  # most tokens of a group of several sequences, so that what a kernel returns for it stays small

Made = TypeVar("Made")


class Packing:
    """Places of the packed tokens in the padded batch `[B, L]`.

    `valid_BL` is True at real tokens (it may have holes); None when every position is real.
    """

    def __init__(self, valid_BL: Tensor | None, *, batch: int, length: int):
        self.batch, self.length = batch, length
        self.valid_BL, self.has_no_padding = valid_BL, valid_BL is None
        if valid_BL is None:
            self.counts_B = torch.full((batch,), length)
            self.order_B = torch.arange(batch)
            self.index_T = torch.arange(batch * length)
        else:
            counts = valid_BL.sum(1)
            self.order_B = counts.argsort(descending=True, stable=True)
            self.counts_B = counts[self.order_B]
            index_T = valid_BL[self.order_B].flatten().nonzero()[:, 0]
            self.index_T = self.order_B[index_T // length] * length + index_T % length
        self.counts: list[int] = self.counts_B.tolist()
        self._made: dict[Hashable, Any] = {}

    @cached_property
    def position_T(self) -> Tensor:
        """Position of each token in its sequence, in [0, L)."""
        return self.index_T % self.length

    @cached_property
    def sequence_T(self) -> Tensor:
        """Index of each token's sequence in the packed order, in [0, B)."""
        return torch.arange(self.batch).repeat_interleave(self.counts_B)

    @cached_property
    def rank_T(self) -> Tensor:
        """Number of real tokens of the same sequence before each token."""
        return torch.arange(len(self.index_T)) - (self.counts_B.cumsum(0) - self.counts_B)[self.sequence_T]

    @cached_property
    def has_holes(self) -> bool:
        """Whether any sequence has padding before a real token."""
        return not self.has_no_padding and not self.position_T.equal(self.rank_T)

    @cached_property
    def used(self) -> int:
        """Number of sequences with a real token; they come first in the packed order."""
        return sum(count > 0 for count in self.counts)

    @cached_property
    def groups(self) -> list[tuple[slice, slice]]:
        """Rows and sequences of groups of neighbours that have equally many real tokens."""
        groups, row, sequence = [], 0, 0
        for count, alike in groupby(self.counts[: self.used]):
            most, left = max(1, GROUP_TOKENS // count), len(list(alike))
            while left:
                number = min(most, left)
                groups.append((slice(row, row + number * count), slice(sequence, sequence + number)))
                row, sequence, left = row + number * count, sequence + number, left - number
        return groups

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what `make` makes of these places: the first layer of a pass makes it for all layers."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def in_groups(self, x_TD: Tensor, heads: int) -> list[Tensor]:
        """View the tokens of each group of G sequences as `[G, H, W, E]`; sequences without tokens are in none."""
        shapes = ((sequences.stop - sequences.start, -1, heads, x_TD.shape[1] // heads) for _, sequences in self.groups)
        return [x_TD[rows].view(shape).transpose(1, 2) for (rows, _), shape in zip(self.groups, shapes, strict=True)]

    def by_head(self, x_TD: Tensor, heads: int) -> tuple[Tensor, ...]:
        """View the tokens of each sequence that has any as `[H, W, E]`."""
        x_HTE = x_TD.unflatten(1, (heads, -1)).transpose(0, 1)
        views: tuple[Tensor, ...] = x_HTE.split(self.counts[: self.used], dim=1)
        return views

    def pack(self, x_BL: Tensor) -> Tensor:
        """Select the real tokens: `[B, L]` to `[T]`, or `[B, L, D]` to `[T, D]`."""
        flat = x_BL.flatten(0, 1)
        return flat if self.has_no_padding else flat.index_select(0, self.index_T)

    def unpack(self, x_PTD: Tensor) -> Tensor:
        """Convert planes `[P, T, D]` to the padded form `[P, B, L, D]`, with zeros at padding."""
        if not self.has_no_padding:
            rows = x_PTD.new_zeros(len(x_PTD), self.batch * self.length, x_PTD.shape[2])
            x_PTD = rows.index_copy(1, self.index_T, x_PTD)
        x_PBLD: Tensor = x_PTD.unflatten(1, (self.batch, self.length))
        return x_PBLD

    def unsort(self, x_BD: Tensor) -> Tensor:
        """Reorder rows, one per sequence, from the packed order to the batch's order."""
        return x_BD if self.has_no_padding else x_BD.new_empty(x_BD.shape).index_copy(0, self.order_B, x_BD)


def mix_by_sequence(
    planes: Iterable[Tensor], packing: Packing, mix: Callable[[Tensor, Tensor, Tensor], Tensor], *, heads: int
) -> Tensor:
    """Mix the values of each sequence; `[T, H·E]`.

    `planes` are queries, keys and values, `[T, H·E]` each; each may have an E of its own. `mix` maps queries, keys and
    values `[1, H, W, E]` of real tokens alone to `[1, H, W, E]`; W may be 0.
    """
    by_head = (x_TD.unflatten(1, (heads, -1)).transpose(0, 1)[None].split(packing.counts, dim=2) for x_TD in planes)
    mixed = [mix(*sequence)[0].transpose(0, 1).flatten(1) for sequence in zip(*by_head, strict=True)]
    return torch.cat(mixed)
