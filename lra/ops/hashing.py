"""Locality-sensitive hashing of vectors by random rotations (Andoni et al. 2015; Kitaev et al. 2020, section 2).

Letters: B examples, H heads, L positions, E dims per head, N hashes, G axes of all rotations of a hash together.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def bucket_factors(length: int, chunk: int) -> tuple[int, ...]:
    """Compute the number of buckets for each rotation of a hash; the hash has their product.

    A hash has twice as many buckets as there are chunks, rounded down to a power of two. It uses two rotations if one
    would need more than 2 · max(√chunks, chunk) buckets. Both are as in transformers 3.x.
    """
    chunks = max(length // chunk, 1)
    exponent = (2 * chunks).bit_length() - 1
    if 2**exponent <= 2 * max(math.isqrt(chunks), chunk):
        return (2**exponent,)
    return 2 ** (exponent // 2), 2 ** (exponent - exponent // 2)


def draw_rotations(
    heads: int,
    dims: int,
    hashes: int,
    factors: tuple[int, ...],
    generator: torch.Generator | None,
    device: torch.device,
) -> Tensor:
    """Draw Gaussian rotations `[H, E, N, G]`, G half the sum of `factors`.

    They are drawn on `device`, from its own generator of torch's if `generator` is None.
    """
    return torch.randn(heads, dims, hashes, sum(factors) // 2, generator=generator, device=device)


def hash_buckets(x_BHLE: Tensor, rotations_HENG: Tensor, factors: tuple[int, ...], valid_BL: Tensor) -> Tensor:
    """Compute the bucket of each position, `[B, H, N, L]`: the nearest one of the rotated axes and their opposites.

    All padding is in one more bucket, after the others, so that its content cannot move a real token to another chunk.
    """
    rotated = torch.einsum("bhle,heng->bhnlg", x_BHLE, rotations_HENG)
    buckets, worth = torch.zeros_like(rotated[..., 0], dtype=torch.long), 1
    for axes, factor in zip(rotated.split([factor // 2 for factor in factors], dim=-1), factors, strict=True):
        buckets = buckets + worth * torch.cat([axes, -axes], dim=-1).argmax(-1)
        worth *= factor
    return torch.where(valid_BL[:, None, None, :], buckets, worth)


def hash_order(buckets_BHNL: Tensor) -> Tensor:
    """Sort the positions by bucket, and within a bucket by position; `[B, H, N, L]`."""
    return buckets_BHNL.sort(dim=-1, stable=True).indices
