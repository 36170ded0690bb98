"""Locality-sensitive hashing by random rotations, and attention within chunks of positions that a hash has sorted.

Sources: Andoni et al. 2015; Kitaev et al. 2020, section 2. A chunk also attends to the chunk before it.

Letters: B examples, H heads, L positions, E dims per head, N hashes, G axes of all rotations of a hash together,
K chunks, C positions per chunk.
"""

import math

import torch
from torch import Tensor

# Scores that replace those of a position with itself, which it attends to only without any other key, and with padding.
# Both are finite, so that a row that is all padding stays finite.
SELF, PADDING = -1e5, -1e9


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


@torch.no_grad()
def hash_order(x_BHLE: Tensor, rotations_HENG: Tensor, factors: tuple[int, ...], valid_BL: Tensor) -> Tensor:
    """Sort the positions by bucket, and within a bucket by position; `[B, H, N, L]`.

    The bucket of a position is the nearest one of the rotated axes and their opposites. All padding is in one more
    bucket, after the others, so that its content cannot move a real token to another chunk.
    """
    rotated = torch.einsum("bhle,heng->bhnlg", x_BHLE, rotations_HENG)
    buckets, bucket_stride = torch.zeros_like(rotated[..., 0], dtype=torch.long), 1
    for axes, factor in zip(rotated.split([factor // 2 for factor in factors], dim=-1), factors, strict=True):
        buckets = buckets + bucket_stride * torch.cat([axes, -axes], dim=-1).argmax(-1)
        bucket_stride *= factor
    buckets_BHNL = torch.where(valid_BL[:, None, None, :], buckets, bucket_stride)
    return buckets_BHNL.sort(dim=-1, stable=True).indices


def unit_keys(q_BHLE: Tensor) -> Tensor:
    """Normalise queries to keys of length 1, with ε = 1e-6 in the root mean square, as in transformers 3.x."""
    k_BHLE: Tensor = q_BHLE * (q_BHLE.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * q_BHLE.shape[-1] ** -0.5
    return k_BHLE


def attend_chunks(
    q_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor, order_BHNL: Tensor, *, chunk: int, look_back: str
) -> Tensor:
    """Attend within chunks in the order of each hash, restore the order, and combine the hashes by their normalisers.

    Args:
        order_BHNL: the positions in the order of each hash, padding last; L is a multiple of `chunk`, C.
        look_back: the chunk before the first chunk of a hash. `across_hashes`: the last one of the previous hash, and
            of the last hash for the first one. `within_hash`: the last chunk of the same hash that has a real token.

    Returns:
        `[B, H, L, E]`.
    """
    last_B = (valid_BL.sum(1) - 1).clamp(min=0) // chunk if look_back == "within_hash" else None
    own = order_BHNL.unflatten(3, (-1, chunk))[..., None]
    real = valid_BL[:, None, None, :].expand_as(order_BHNL).gather(3, order_BHNL).view_as(own)
    seen = _before_and_own(torch.where(real, own, -1), last_B).mT

    q = _take(q_BHLE, order_BHNL).unflatten(3, (-1, chunk))
    k = _before_and_own(unit_keys(q), last_B)
    v = _before_and_own(_take(v_BHLE, order_BHNL).unflatten(3, (-1, chunk)), last_B)
    scores = (q @ k.mT).masked_fill_(seen == own, SELF).masked_fill_(seen < 0, PADDING)
    normaliser = scores.logsumexp(-1, keepdim=True)
    out = (scores.softmax(-1) @ v).flatten(3, 4)  # weights that add to 1, also where SELF leaves logsumexp no digits
    inverse = order_BHNL.argsort(-1)[..., None]
    out = out.gather(3, inverse.expand_as(out))
    weights = normaliser.flatten(3, 4).gather(3, inverse).softmax(2)
    averaged: Tensor = (out * weights).sum(2)
    return averaged


def _take(x_BHLE: Tensor, order_BHNL: Tensor) -> Tensor:
    """Gather the vectors in the order of each hash, `[B, H, N, L, E]`."""
    wide = x_BHLE[:, :, None].expand(-1, -1, order_BHNL.shape[2], -1, -1)
    return wide.gather(3, order_BHNL[..., None].expand(*order_BHNL.shape, x_BHLE.shape[3]))


def _before_and_own(x_BHNKCE: Tensor, last_B: Tensor | None) -> Tensor:
    """Join each chunk with the chunk before it, `[B, H, N, K, 2C, E]`.

    The chunk before the first one is chunk `last_B` of the same hash, or the previous hash's last one if that is None.
    """
    if last_B is None:
        first = x_BHNKCE[:, :, :, -1].roll(1, dims=2)
    else:
        first = x_BHNKCE[torch.arange(x_BHNKCE.shape[0], device=x_BHNKCE.device), :, :, last_B]
    before = torch.cat([first[:, :, :, None], x_BHNKCE[:, :, :, :-1]], dim=3)
    return torch.cat([before, x_BHNKCE], dim=4)
