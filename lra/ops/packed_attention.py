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

from lra.ops.dropout import MOST_ENTRIES, DropoutMasks
from lra.ops.packed_softmax import by_head, softmax_backward, softmax_weights
from lra.ops.packing import Packing

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
        q, k, v, out_HTE = (by_head(x, heads) for x in (*qkv, out))
        for number, sequence, block in _blocks(packing, heads):
            weights = softmax_weights(_scaled(q[:, block]), k[:, sequence])
            weights.mul_(masks.keep(number, weights))
            torch.bmm(weights, v[:, sequence], out=out_HTE[:, block])
        return out.mul_(masks.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (qkv,) = ctx.saved_tensors
        masks, heads = ctx.masks, ctx.heads
        grad_qkv = torch.zeros_like(qkv)
        q, k, v, grad_out = (by_head(x, heads) for x in (*qkv, grads[0] * masks.scale))
        grad_q, grad_k, grad_v = (by_head(x, heads) for x in grad_qkv)
        for number, sequence, block in _blocks(ctx.packing, heads):
            queries, grad = _scaled(q[:, block]), grad_out[:, block]
            weights = softmax_weights(queries, k[:, sequence])
            keep = masks.keep(number, weights)
            grad_v[:, sequence] += torch.bmm((weights * keep).mT, grad)
            grad_scores = softmax_backward(torch.bmm(grad, v[:, sequence].mT).mul_(keep), weights)
            torch.bmm(grad_scores, _scaled(k[:, sequence]), out=grad_q[:, block])
            grad_k[:, sequence] += torch.bmm(grad_scores.mT, queries)
        return grad_qkv, None, None, None


def _scaled(x_HWE: Tensor) -> Tensor:
    return x_HWE * x_HWE.shape[2] ** -0.5


def _blocks(packing: Packing, heads: int) -> Iterator[tuple[int, slice, slice]]:
    """Number, rows of the sequence and rows of the queries of each block, always in the same order."""
    number = 0
    for _, sequence in packing.sequences():
        size = max(1, BLOCK_ENTRIES // (heads * (sequence.stop - sequence.start)))
        for start in range(sequence.start, sequence.stop, size):
            yield number, sequence, slice(start, min(start + size, sequence.stop))
            number += 1
