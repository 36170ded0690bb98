"""Attention with the kernel φ(q)ᵀ φ(k), for any feature map φ (Katharopoulos et al. 2020).

Letters: B examples, H heads, L positions, E dims per head, R features.
"""

from __future__ import annotations

import torch
from torch import Tensor


def linear_attention(q_BHLR: Tensor, k_BHLR: Tensor, v_BHLE: Tensor) -> Tensor:
    """Compute φ(q) (φ(k)ᵀ v), divided by φ(q) Σ φ(k): attention in O(L · R · E); `[B, H, L, E]`.

    A row whose normaliser is 0, because there is no key, gives zeros.
    """
    total_BHRE = k_BHLR.mT @ v_BHLE
    normaliser_BHL1 = q_BHLR @ k_BHLR.sum(2)[..., None]
    return (q_BHLR @ total_BHRE) / torch.where(normaliser_BHL1 > 0, normaliser_BHL1, 1.0)
