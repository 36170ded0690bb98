"""Exact attention with dropout on its weights, in memory linear in the length.

torch's fused CPU kernel holds the whole L × L matrix when it must drop weights. Here a block of queries at a time
is computed, and computed again in the backward pass; the dropped weights come back from a seed.

Letters: B examples, H heads, L positions, E dims per head, S queries per block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from lra.ops.dropout import DropoutMasks

BLOCK_ELEMENTS = 1 << 19  # scores held at once, all heads of one example: 2 MiB in float32, so they stay in cache


def blocked_attention(
    q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, keep_BL: Tensor | None, *, dropout: float
) -> Tensor:
    """dropout(softmax(q kᵀ / √E)) v; returns `[B, H, L, E]`.

    The dropped weights are drawn from torch's global generator (one number per call), so they repeat with its state.

    Args:
        q_BHLE: queries.
        k_BHLE: keys.
        v_BHLE: values.
        keep_BL: `[B, L]` bool, the keys to attend to, at least one per row; None for all.
        dropout: share of weights set to 0, in [0, 1); the others grow by 1 / (1 − dropout).
    """
    seed = int(torch.randint(1 << 62, ()))
    out: Tensor = _BlockedAttention.apply(q_BHLE, k_BHLE, v_BHLE, keep_BL, dropout, seed)
    return out


class _BlockedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, dropout: float, seed: int) -> Tensor:
        ctx.save_for_backward(q, k, v, *([] if keep is None else [keep]))
        ctx.dropout, ctx.seed = dropout, seed
        out = torch.empty_like(v)
        for b, rows, weights, factors in _blocks(q, k, keep, dropout, seed):
            torch.matmul(weights.mul_(factors), v[b], out=out[b, :, rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad_out,) = grads
        q, k, v, *rest = ctx.saved_tensors
        keep = rest[0] if rest else None
        scale = q.shape[-1] ** -0.5
        grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for b, rows, weights, factors in _blocks(q, k, keep, ctx.dropout, ctx.seed):
            grad = grad_out[b, :, rows]
            grad_v[b] += (weights * factors).mT @ grad
            grad_weights = (grad @ v[b].mT).mul_(factors)
            inner = (grad_weights * weights).sum(-1, keepdim=True)
            grad_scores = grad_weights.sub_(inner).mul_(weights).mul_(scale)
            grad_q[b, :, rows] = grad_scores @ k[b]
            grad_k[b] += grad_scores.mT @ q[b, :, rows]
        return grad_q, grad_k, grad_v, None, None, None


def _blocks(
    q: Tensor, k: Tensor, keep: Tensor | None, dropout: float, seed: int
) -> Iterator[tuple[int, slice, Tensor, Tensor]]:
    """Example, rows, softmax weights `[H, S, L]` and dropout factors of each block, always in the same order."""
    batch, heads, length, dims = q.shape
    generator = torch.Generator().manual_seed(seed)
    size = max(1, BLOCK_ELEMENTS // (heads * k.shape[2]))
    for b in range(batch):
        masked = None if keep is None else ~keep[b]
        for start in range(0, length, size):
            rows = slice(start, min(start + size, length))
            scores = (q[b, :, rows] * dims**-0.5) @ k[b].mT
            if masked is not None:
                scores.masked_fill_(masked, float("-inf"))
            yield b, rows, scores.softmax(-1), _factors(scores, dropout, generator)


def _factors(like: Tensor, dropout: float, generator: torch.Generator) -> Tensor:
    """0 where a weight is dropped, else the factor that keeps the mean."""
    return keep_mask(like.shape, dropout, generator).to(like.dtype).mul_(keep_scale(dropout))
