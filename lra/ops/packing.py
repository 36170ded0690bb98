"""The packed (unpadded, varlen) form of a batch: its real tokens are concatenated, so that no padding is computed.

The sequences are sorted by length, the longest first, so that neighbours have similar lengths.

Letters: B sequences, L positions, T real tokens of all sequences, P planes, D = H·E width, H heads, E dims per head,
W tokens of one sequence, M landmarks, S = B·M segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

GROUP_TOKENS = 2048  # most tokens of a group of several sequences, so that what a kernel returns for it stays small
ADDED_ROWS = 4096  # tokens whose gradients are added together, so that they stay in cache


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
            self.place_T = torch.arange(batch * length)
        else:
            counts = valid_BL.sum(1)
            self.order_B = counts.argsort(descending=True, stable=True)
            self.counts_B = counts[self.order_B]
            place_T = valid_BL[self.order_B].flatten().nonzero()[:, 0]
            self.place_T = self.order_B[place_T // length] * length + place_T % length
        self.counts: list[int] = self.counts_B.tolist()
        self._segments: dict[tuple[int, str], Segments] = {}  # computed once, shared by the layers of one pass
        self.layouts: dict[int, list[Any]] = {}

    @cached_property
    def position_T(self) -> Tensor:
        """Position of each token in its sequence, in [0, L)."""
        return self.place_T % self.length

    @cached_property
    def sequence_T(self) -> Tensor:
        """Index of each token's sequence in the packed order, in [0, B)."""
        return torch.arange(self.batch).repeat_interleave(self.counts_B)

    @cached_property
    def rank_T(self) -> Tensor:
        """Number of real tokens of the same sequence before each token."""
        return torch.arange(len(self.place_T)) - (self.counts_B.cumsum(0) - self.counts_B)[self.sequence_T]

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

    def segments(self, num_landmarks: int, kind: str) -> Segments:
        """Divide the sequences into segments; the first layer of a pass computes them for all layers."""
        key = (num_landmarks, kind)
        if key not in self._segments:
            self._segments[key] = Segments(self, num_landmarks, kind)
        return self._segments[key]

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
        return flat if self.has_no_padding else flat.index_select(0, self.place_T)

    def unpack(self, x_PTD: Tensor) -> Tensor:
        """Convert planes `[P, T, D]` to the padded form `[P, B, L, D]`, with zeros at padding."""
        if not self.has_no_padding:
            rows = x_PTD.new_zeros(len(x_PTD), self.batch * self.length, x_PTD.shape[2])
            x_PTD = rows.index_copy(1, self.place_T, x_PTD)
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


class Segments:
    """The segments of packed sequences; the tokens of a segment are neighbours in the packed order.

    `kind=padded` divides the padded length, `valid` each sequence's real tokens, as do the functions in
    `lra.ops.landmarks` with these words in their names.
    """

    def __init__(self, packing: Packing, num_landmarks: int, kind: str):
        if kind == "padded":
            size = -(-packing.length // num_landmarks)
            segment_T = packing.position_T // size
            self.used = [num_landmarks] * packing.batch
        else:
            used_B = packing.counts_B.clamp(max=num_landmarks)
            segment_T = packing.rank_T * used_B[packing.sequence_T] // packing.counts_B[packing.sequence_T]
            self.used = used_B.tolist()
        self.batch, self.num_landmarks = packing.batch, num_landmarks
        self.segment_T = packing.sequence_T * num_landmarks + segment_T
        ends = torch.bincount(self.segment_T, minlength=packing.batch * num_landmarks)
        self.first_S = ends.cumsum(0) - ends
        self.used_BM = ends.view(packing.batch, num_landmarks) > 0 if min(self.used) < num_landmarks else None
        self.divisor_S1 = (torch.full_like(ends, size) if kind == "padded" else ends.clamp(min=1))[:, None]

    def means(self, x_PTD: Tensor) -> Tensor:
        """Compute the means over the segments, `[P, B, M, D]`; zeros for a segment without tokens."""
        tokens = torch.arange(x_PTD.shape[1])
        sums = torch.stack([embedding_bag(tokens, x_TD, self.first_S, mode="sum") for x_TD in x_PTD])
        means_PBMD: Tensor = (sums / self.divisor_S1).unflatten(1, (self.batch, self.num_landmarks))
        return means_PBMD

    def add_gradient(self, grad_PBMD: Tensor, grad_PTD: Tensor) -> None:
        """Add the gradient that `means` passes to the tokens to `grad_PTD`."""
        for share_SD, grad_TD in zip(grad_PBMD.flatten(1, 2) / self.divisor_S1, grad_PTD, strict=True):
            for rows, segment in zip(grad_TD.split(ADDED_ROWS), self.segment_T.split(ADDED_ROWS), strict=True):
                rows += share_SD.index_select(0, segment)
