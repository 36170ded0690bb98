"""The classifier head, from pooled sequences to logits.

Letters: B examples, N sequences per example, D model width, C classes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ClassifierHead(nn.Sequential):
    """Linear, ReLU, Linear on the vector of one sequence or on the features of a pair.

    The features of a pair are `[a, b, a·b, a − b]`, as in the released code's head for Retrieval.
    """

    def __init__(self, *, num_sequences: int, width: int, hidden: int, num_classes: int):
        assert num_sequences in (1, 2), num_sequences
        features = width if num_sequences == 1 else 4 * width
        super().__init__(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, num_classes))

    def forward(self, pooled_BND: Tensor) -> Tensor:
        """Compute logits `[B, C]` from `[B, N, D]`."""
        features = pooled_BND[:, 0]
        if pooled_BND.shape[1] == 2:
            a, b = pooled_BND.unbind(1)
            features = torch.cat([a, b, a * b, a - b], dim=-1)
        logits_BC: Tensor = super().forward(features)
        return logits_BC
