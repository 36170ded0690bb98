"""Locality-sensitive hashing of vectors by random rotations (Andoni et al. 2015; Kitaev et al. 2020, section 2).

Letters: B examples, H heads, L positions, E dims per head, N hashes, G axes of all of a hash's rotations.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def bucket_factors(length: int, chunk: int) -> tuple[int, ...]:
    """How many buckets each rotation of a hash tells apart; a hash has their product.

    Twice as many buckets as chunks, rounded down to a power of two; two rotations where one would need more than
    2 · max(√chunks, chunk) buckets, as in transformers 3.x.
    """
    chunks = max(length // chunk, 1)
    exponent = (2 * chunks).bit_length() - 1
    if 2**exponent <= 2 * max(math.isqrt(chunks), chunk):
        return (2**exponent,)
    return 2 ** (exponent // 2), 2 ** (exponent - exponent // 2)


def draw_rotations(
    heads: int, dims: int, hashes: int, factors: tuple[int, ...], generator: torch.Generator | None
) -> Tensor:
    """Gaussian `[H, E, N, G]`, G half the sum of `factors`; from torch's own generator if None is given."""
    return torch.randn(heads, dims, hashes, sum(factors) // 2, generator=generator)


def hash_buckets(x_BHLE: Tensor, rotations_HENG: Tensor, factors: tuple[int, ...], valid_BL: Tensor) -> Tensor:
    """Bucket of each position `[B, H, N, L]`: the nearest of ± the rotated axes; one past them for every padded one.

    Padding has a bucket of its own, so that its content moves no real token to another chunk.
    """
    rotated = torch.einsum("bhle,heng->bhnlg", x_BHLE, rotations_HENG)
    buckets, worth = torch.zeros_like(rotated[..., 0], dtype=torch.long), 1
    for axes, factor in zip(rotated.split([factor // 2 for factor in factors], dim=-1), factors, strict=True):
        buckets = buckets + worth * torch.cat([axes, -axes], dim=-1).argmax(-1)
        worth *= factor
    return torch.where(valid_BL[:, None, None, :], buckets, worth)


def hash_order(buckets_BHNL: Tensor) -> Tensor:
    """Positions sorted by bucket and, within one, by position; `[B, H, N, L]`."""
    return buckets_BHNL.sort(dim=-1, stable=True).indices
