"""Softmax with masks, and exact attention.

Letters: B examples, H heads, L positions, Q query positions, E dims per head.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def masked_softmax(scores: Tensor, keep: Tensor | None) -> Tensor:
    """Compute the softmax over those entries of the last dimension where `keep` is True; the others are 0.

    Args:
        scores: any float tensor.
        keep: bool, broadcastable to `scores`; None keeps all. A row without a kept entry gives zeros, not NaN.
    """
    if keep is None:
        return scores.softmax(-1)
    return scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep


def attendable(valid_BL: Tensor | None) -> Tensor | None:
    """Build the mask of keys `[B, 1, 1, L]` for fused attention, which returns NaN for a sequence without any key.

    So a sequence that is all padding may attend to all positions; its output is not used.
    """
    if valid_BL is None:
        return None
    return (valid_BL | ~valid_BL.any(-1, keepdim=True))[:, None, None, :]


def exact_attention(q_BHQE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
    """Compute softmax(q kᵀ / √E) v with torch's fused kernel, without storing the Q × L matrix; `[B, H, Q, E]`.

    Source: Vaswani et al. 2017, equation 1.
    """
    return scaled_dot_product_attention(q_BHQE, k_BHLE, v_BHLE, attn_mask=attendable(valid_BL))
