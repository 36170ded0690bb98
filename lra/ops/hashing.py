"""Locality-sensitive hashing of vectors by random rotations (Andoni et al. 2015; Kitaev et al. 2020, section 2).

Letters: B examples, H heads, L positions, E dims per head, N hashes, G buckets.
"""

from __future__ import annotations

import torch
from torch import Tensor


def draw_rotations(heads: int, dims: int, hashes: int, buckets: int) -> Tensor:
    """Gaussian `[H, E, N, G / 2]`, from torch's generator."""
    return torch.randn(heads, dims, hashes, buckets // 2)


def hash_buckets(x_BHLE: Tensor, rotations_HENG: Tensor, valid_BL: Tensor) -> Tensor:
    """Bucket of each position `[B, H, N, L]`: the nearest of ± the rotated axes; G for every padded position.

    Padding has a bucket of its own, so that its content moves no real token to another chunk.
    """
    rotated = torch.einsum("bhle,heng->bhnlg", x_BHLE, rotations_HENG)
    buckets = torch.cat([rotated, -rotated], dim=-1).argmax(-1)
    return torch.where(valid_BL[:, None, None, :], buckets, 2 * rotations_HENG.shape[-1])


def hash_order(buckets_BHNL: Tensor) -> Tensor:
    """Positions sorted by bucket and, within one, by position; `[B, H, N, L]`."""
    return buckets_BHNL.sort(dim=-1, stable=True).indices
