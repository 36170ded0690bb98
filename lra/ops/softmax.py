"""Softmax with masks, and exact attention.

Letters: B examples, H heads, L positions, Q query positions, E dims per head.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def masked_softmax(scores: Tensor, keep: Tensor | None) -> Tensor:
    """Softmax over the last dimension where `keep` is True; 0 elsewhere.

    Args:
        scores: any float tensor.
        keep: bool, broadcastable to `scores`; None keeps all. A row without a kept entry gives zeros, not NaN.
    """
    if keep is None:
        return scores.softmax(-1)
    return scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep


def attendable(valid_BL: Tensor | None) -> Tensor | None:
    """The mask of keys `[B, 1, 1, L]` for a fused kernel, which would make NaN of a row without any key.

    A row that is all padding may attend everywhere: it has no real token that would see the difference.
    """
    if valid_BL is None:
        return None
    return (valid_BL | ~valid_BL.any(-1, keepdim=True))[:, None, None, :]


def exact_attention(q_BHQE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √E) v by torch's fused kernel, which never holds the Q × L matrix; returns `[B, H, Q, E]`.

    Source: Vaswani et al. 2017, equation 1.
    """
    return scaled_dot_product_attention(q_BHQE, k_BHLE, v_BHLE, attn_mask=attendable(valid_BL))
