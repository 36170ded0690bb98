"""Segments of packed sequences, whose means are the landmarks of Nyström attention.

Letters: B sequences, T real tokens of all sequences, P planes, D = H·E width, M landmarks, S = B·M segments.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from lra.ops.packing import Packing

ADDED_ROWS = 4096  # tokens whose gradients are added together, so that they stay in cache


def segments_of(packing: Packing, num_landmarks: int, kind: str) -> Segments:
    """Divide the sequences into segments; the layers of a pass share them."""
    return packing.once(("segments", num_landmarks, kind), partial(Segments, packing, num_landmarks, kind))


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
