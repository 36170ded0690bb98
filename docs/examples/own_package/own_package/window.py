"""Exact attention to neighbours on both sides.

Letters: B examples, H heads, L positions, E dims per head.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lra.attention.base import AttentionBackend, AttentionDims
from lra.base.option_types import CountOrZero, checked


class WindowAttention(AttentionBackend):
    """Exact attention between positions that are at most `radius` apart.

    Args:
        dims: dimensions of the encoder.
        radius: number of neighbours on each side, at least 0.

    Raises:
        UserError: for a negative radius.
    """

    quadratic = True  # the mask is L × L

    @checked
    def __init__(self, dims: AttentionDims, *, radius: CountOrZero):
        super().__init__(dims)
        self.radius = radius

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        place = torch.arange(q_BHLE.shape[2], device=q_BHLE.device)
        seen = (place[:, None] - place).abs() <= self.radius
        if valid_BL is not None:  # True: a token; padding sees itself, else NaN
            seen = seen & valid_BL[:, None, None] | (place[:, None] == place)
        return scaled_dot_product_attention(q_BHLE, k_BHLE, v_BHLE, attn_mask=seen)


def window_twin(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, *, radius: int, **_: object) -> Tensor:
    """Compute the same attention slowly, one position after the other."""
    out = torch.zeros_like(v)
    for b in range(len(q)):
        real = range(q.shape[2]) if valid is None else valid[b].nonzero()[:, 0].tolist()
        for i in real:
            near = [j for j in real if abs(i - j) <= radius]
            weights = (q[b, :, i, None] * k[b, :, near]).sum(-1) / q.shape[-1] ** 0.5
            out[b, :, i] = (weights.softmax(-1)[..., None] * v[b, :, near]).sum(1)
    return out
