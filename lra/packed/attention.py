"""Exact attention on packed tokens: each sequence by itself, so that nothing is masked.

torch's fused CPU kernel holds the whole matrix when it must drop weights. With dropout, a block of queries at a time
meets all keys of its sequence, and again in the backward pass; a block's weights stay in cache, and its mask comes
back from its number.

Letters: T tokens, H heads, E dims per head, W tokens of one sequence, S queries of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lra.packed.dropout import MOST_ENTRIES, DropoutMasks
from lra.packed.packing import Packing
from lra.packed.softmax import softmax_backward, softmax_weights

BLOCK_ENTRIES = MOST_ENTRIES  # weights held at once, of all heads: 2 MiB in float32


def exact_attention_packed(qkv_PTD: Tensor, packing: Packing, *, heads: int) -> Tensor:
    """softmax(q kᵀ / √E) v within each sequence, of queries, keys and values `[3, T, H·E]`; returns `[T, H·E]`."""
    mixed = []
    for sequence in qkv_PTD.split(packing.counts, dim=1):
        q, k, v = sequence.unflatten(2, (heads, -1)).transpose(1, 2).unsqueeze(1)
        mixed.append(scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).flatten(1))
    return torch.cat(mixed)


def dropout_attention(qkv_PTD: Tensor, packing: Packing, masks: DropoutMasks, *, heads: int) -> Tensor:
    """dropout(softmax(q kᵀ / √E)) v within each sequence, of queries, keys and values `[3, T, H·E]`; `[T, H·E]`.

    The mean of the weights stays: kept ones grow by 1 / (1 − rate).
    """
    out_TD: Tensor = _DropoutAttention.apply(qkv_PTD, packing, masks, heads)
    return out_TD


class _DropoutAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, packing: Packing, masks: DropoutMasks, heads: int) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.packing, ctx.masks, ctx.heads = packing, masks, heads
        out = torch.empty_like(qkv[0])
        number = 0
        for q, k, v, out_HWE in zip(*(packing.by_head(x, heads) for x in (*qkv, out)), strict=True):
            for block in _blocks(q):
                weights = softmax_weights(_scaled(q[:, block]), k)
                weights.mul_(masks.keep(number, weights))
                torch.bmm(weights, v, out=out_HWE[:, block])
                number += 1
        return out.mul_(masks.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (qkv,) = ctx.saved_tensors
        masks, heads = ctx.masks, ctx.heads
        grad_qkv, number = torch.zeros_like(qkv), 0
        all_planes = (*qkv, grads[0] * masks.scale, *grad_qkv)
        for q, k, v, grad_out, grad_q, grad_k, grad_v in zip(
            *(ctx.packing.by_head(x, heads) for x in all_planes), strict=True
        ):
            for block in _blocks(q):
                queries, grad = _scaled(q[:, block]), grad_out[:, block]
                weights = softmax_weights(queries, k)
                keep = masks.keep(number, weights)
                grad_v += torch.bmm((weights * keep).mT, grad)
                grad_scores = softmax_backward(torch.bmm(grad, v.mT).mul_(keep), weights)
                torch.bmm(grad_scores, _scaled(k), out=grad_q[:, block])
                grad_k += torch.bmm(grad_scores.mT, queries)
                number += 1
        return grad_qkv, None, None, None


def _scaled(x_HWE: Tensor) -> Tensor:
    scaled_HWE: Tensor = x_HWE * x_HWE.shape[2] ** -0.5
    return scaled_HWE


def _blocks(q_HWE: Tensor) -> Iterator[slice]:
    """Queries of one sequence that are computed at once; every block has a mask, numbered in this order."""
    heads, length, _ = q_HWE.shape
    size = max(1, BLOCK_ENTRIES // (heads * length))
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))
