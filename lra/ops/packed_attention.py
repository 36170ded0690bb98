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
from lra.ops.packing import Packing

BLOCK_ENTRIES = MOST_ENTRIES  # weights held at once, of all heads: 2 MiB in float32


def exact_attention_packed(qkv_PTE: Tensor, packing: Packing) -> Tensor:
    """softmax(q kᵀ / √E) v within each sequence, from planes `[3·H, T, E]`; returns `[H, T, E]`."""
    mixed = [
        scaled_dot_product_attention(*(x[None] for x in sequence.chunk(3)))[0]
        for sequence in qkv_PTE.split(packing.counts, dim=1)
        if sequence.shape[1]
    ]
    return torch.cat(mixed, dim=1) if mixed else qkv_PTE[: len(qkv_PTE) // 3]


def dropout_attention(qkv_PTE: Tensor, packing: Packing, masks: DropoutMasks) -> Tensor:
    """dropout(softmax(q kᵀ / √E)) v within each sequence, from planes `[3·H, T, E]`; returns `[H, T, E]`.

    The mean of the weights stays: kept ones grow by 1 / (1 − rate).
    """
    out_HTE: Tensor = _DropoutAttention.apply(qkv_PTE, packing, masks)
    return out_HTE


class _DropoutAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, packing: Packing, masks: DropoutMasks) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.packing, ctx.masks = packing, masks
        q, k, v = qkv.chunk(3)
        out = torch.empty_like(q)
        for number, sequence, block in _blocks(packing, len(q)):
            weights = _weights(q[:, block], k[:, sequence])
            weights.mul_(masks.keep(number, weights))
            torch.bmm(weights, v[:, sequence], out=out[:, block])
        return out.mul_(masks.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (qkv,) = ctx.saved_tensors
        masks, scale = ctx.masks, qkv.shape[2] ** -0.5
        q, k, v = qkv.chunk(3)
        grad_qkv = torch.zeros_like(qkv)
        grad_q, grad_k, grad_v = grad_qkv.chunk(3)
        grad_out = grads[0] * masks.scale
        for number, sequence, block in _blocks(ctx.packing, len(q)):
            weights, grad = _weights(q[:, block], k[:, sequence]), grad_out[:, block]
            keep = masks.keep(number, weights)
            grad_v[:, sequence] += torch.bmm((weights * keep).mT, grad)
            grad_weights = torch.bmm(grad, v[:, sequence].mT).mul_(keep)
            grad_scores = torch.ops.aten._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
            torch.bmm(grad_scores, k[:, sequence], out=grad_q[:, block])
            grad_k[:, sequence] += torch.bmm(grad_scores.mT, q[:, block])
        grad_qkv[: 2 * len(q)] *= scale
        return grad_qkv, None, None


def _weights(q_HSE: Tensor, k_HWE: Tensor) -> Tensor:
    """softmax(q kᵀ / √E), `[H, S, W]`."""
    scores = torch.bmm(q_HSE * q_HSE.shape[2] ** -0.5, k_HWE.mT)
    return torch.softmax(scores, -1, out=scores)


def _blocks(packing: Packing, heads: int) -> Iterator[tuple[int, slice, slice]]:
    """Number, rows of the sequence and rows of the queries of each block, always in the same order."""
    number = 0
    for _, sequence in packing.sequences():
        size = max(1, BLOCK_ENTRIES // (heads * (sequence.stop - sequence.start)))
        for start in range(sequence.start, sequence.stop, size):
            yield number, sequence, slice(start, min(start + size, sequence.stop))
            number += 1
