"""Attention within chunks of positions that a hash has sorted, each chunk with the one before it.

Letters: B examples, H heads, L positions, E dims per head, N hashes, K chunks, C positions per chunk.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Scores. A position attends to itself only where it finds no other key, and to padding never; both are finite, so that
# a row of padding stays finite.
SELF, PADDING = -1e5, -1e9


def unit_keys(q_BHLE: Tensor) -> Tensor:
    """Queries as keys of length 1: divided by their root mean square and by √E; ε = 1e-6, as in transformers 3.x."""
    k_BHLE: Tensor = q_BHLE * (q_BHLE.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * q_BHLE.shape[-1] ** -0.5
    return k_BHLE


def attend_chunks(
    q_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor, order_BHNL: Tensor, *, chunk: int, look_back: str, total: int
) -> Tensor:
    """Attend within the chunks of each hash's order, put back in place, weigh the hashes by their normalisers.

    Args:
        q_BHLE: queries; L is a multiple of `chunk`.
        v_BHLE: values.
        valid_BL: True at real tokens.
        order_BHNL: positions as each hash sorts them, padding last.
        chunk: C.
        look_back: what the first chunk of a hash finds before it: `across_hashes` the last of `total` chunks of the
            hash before, and the first hash's that of the last hash; `within_hash` the last chunk of the same hash that
            has a real token.
        total: chunks of the padded sequence, at least K; those past K hold padding alone.

    Returns:
        `[B, H, L, E]`.
    """
    last_B = (valid_BL.sum(1) - 1).clamp(min=0) // chunk if look_back == "within_hash" else None
    own = order_BHNL.unflatten(3, (-1, chunk))[..., None]
    real = valid_BL[:, None, None, :].expand_as(order_BHNL).gather(3, order_BHNL).view_as(own)
    seen = _before_and_own(torch.where(real, own, -1), last_B).mT
    if last_B is None and total > own.shape[3]:
        seen[:, :, :, 0, :, :chunk] = -1

    q = _take(q_BHLE, order_BHNL).unflatten(3, (-1, chunk))
    k = _before_and_own(unit_keys(q), last_B)
    v = _before_and_own(_take(v_BHLE, order_BHNL).unflatten(3, (-1, chunk)), last_B)
    scores = (q @ k.mT).masked_fill_(seen == own, SELF).masked_fill_(seen < 0, PADDING)
    normaliser = scores.logsumexp(-1, keepdim=True)
    out = ((scores - normaliser).exp_() @ v).flatten(3, 4)
    place = order_BHNL.argsort(-1)[..., None]
    out = out.gather(3, place.expand_as(out))
    weights = normaliser.flatten(3, 4).gather(3, place).softmax(2)
    averaged: Tensor = (out * weights).sum(2)
    return averaged


def _take(x_BHLE: Tensor, order_BHNL: Tensor) -> Tensor:
    """Rows of each hash's order `[B, H, N, L, E]`."""
    wide = x_BHLE[:, :, None].expand(-1, -1, order_BHNL.shape[2], -1, -1)
    return wide.gather(3, order_BHNL[..., None].expand(*order_BHNL.shape, x_BHLE.shape[3]))


def _before_and_own(x_BHNKCE: Tensor, last_B: Tensor | None) -> Tensor:
    """Each chunk with the one before it, `[B, H, N, K, 2C, E]`.

    Before the first stands chunk `last_B` of the same hash; without one, the last of the hash before.
    """
    if last_B is None:
        first = x_BHNKCE[:, :, :, -1].roll(1, dims=2)
    else:
        first = x_BHNKCE[torch.arange(len(x_BHNKCE), device=x_BHNKCE.device), :, :, last_B]
    before = torch.cat([first[:, :, :, None], x_BHNKCE[:, :, :, :-1]], dim=3)
    return torch.cat([before, x_BHNKCE], dim=4)
