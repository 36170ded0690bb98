"""Exact attention on a CPU, one sequence at a time: neither padding nor a mask nor a whole matrix is computed.

With dropout, torch's fused CPU kernel would store the whole attention matrix. So attention with dropout is computed for
one block of queries at a time, whose weights stay in cache. The backward pass computes the weights again, and restores
the dropout mask of a block from the block's number.

Letters: B examples, L positions, T real tokens of all sequences, P planes (queries, keys, values), H heads, E dims per
head, W tokens of one sequence.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lra.ops.dropout_masks import MOST_ENTRIES, DropoutMasks
from lra.ops.first_order import first_order, without_autocast
from lra.ops.packing import Packing, mix_by_sequence
from lra.ops.private_torch import softmax_backward

BLOCK_ENTRIES = MOST_ENTRIES  # attention weights of a block, over all heads: 2 MiB in float32


def attention_by_sequence(
    q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None, *, rate: float
) -> Tensor:
    """Compute dropout(softmax(q kᵀ / √E)) v of padded sequences, `[B, H, L, E]`; zeros at padding.

    `rate` is the fraction of weights that are dropped.
    """
    packing = Packing(valid_BL, batch=len(q_BHLE), length=q_BHLE.shape[2])
    heads = q_BHLE.shape[1]
    qkv_PTD = torch.stack([packing.pack(x_BHLE.transpose(1, 2).flatten(2)) for x_BHLE in (q_BHLE, k_BHLE, v_BHLE)])
    mixed_TD = attention_of_real_tokens(qkv_PTD, packing, heads=heads, rate=rate)
    mixed_BLHE: Tensor = packing.unpack(mixed_TD[None])[0].unflatten(2, (heads, -1))
    return mixed_BLHE.transpose(1, 2)


def attention_of_real_tokens(qkv_PTD: Tensor, packing: Packing, *, heads: int, rate: float) -> Tensor:
    """Compute the same from the real tokens alone, `[3, T, H·E]` to `[T, H·E]`; H = `heads`."""
    if rate:
        return dropout_attention(qkv_PTD, packing, DropoutMasks(rate), heads=heads)
    return mix_by_sequence(qkv_PTD, packing, scaled_dot_product_attention, heads=heads)


def dropout_attention(qkv_PTD: Tensor, packing: Packing, masks: DropoutMasks, *, heads: int) -> Tensor:
    """Compute dropout(softmax(q kᵀ / √E)) v within each sequence, from q, k and v `[3, T, H·E]`; `[T, H·E]`.

    Weights that are kept are multiplied by 1 / (1 − rate), so that their mean stays the same.
    """
    out_TD: Tensor = _DropoutAttention.apply(qkv_PTD, packing, masks, heads)
    return out_TD


class _DropoutAttention(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(ctx: Any, qkv: Tensor, packing: Packing, masks: DropoutMasks, heads: int) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.packing, ctx.masks, ctx.heads = packing, masks, heads
        out = torch.empty_like(qkv[0])
        number = 0
        for q, k, v, out_HWE in _parts((*qkv, out), packing, heads):
            for block in _blocks(q):
                weights = _softmax_weights(_scaled(q[:, block]), k)
                weights.mul_(masks.keep(number, weights))
                torch.bmm(weights, v, out=out_HWE[:, block])
                number += 1
        return out.mul_(masks.scale)

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (qkv,) = ctx.saved_tensors
        masks = ctx.masks
        grad_qkv, number = torch.zeros_like(qkv), 0
        all_planes = (*qkv, grads[0] * masks.scale, *grad_qkv)
        for q, k, v, grad_out, grad_q, grad_k, grad_v in _parts(all_planes, ctx.packing, ctx.heads):
            for block in _blocks(q):
                queries, grad = _scaled(q[:, block]), grad_out[:, block]
                weights = _softmax_weights(queries, k)
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


def _parts(planes: Iterable[Tensor], packing: Packing, heads: int) -> Iterator[tuple[Tensor, ...]]:
    """Split planes `[T, H·E]` into sequences `[H, W, E]`, and these into heads where a block cannot hold them all."""
    for sequence in zip(*(packing.by_head(x, heads) for x in planes), strict=True):
        heads_at_once = max(1, BLOCK_ENTRIES // sequence[0].shape[1])
        yield from zip(*(x_HWE.split(heads_at_once) for x_HWE in sequence), strict=True)


def _blocks(q_HWE: Tensor) -> Iterator[slice]:
    """Split the queries of one sequence into blocks; dropout masks are numbered in the order of blocks."""
    heads, length, _ = q_HWE.shape
    size = max(1, BLOCK_ENTRIES // (heads * length))
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def _softmax_weights(q: Tensor, k: Tensor) -> Tensor:
    """Compute softmax(q kᵀ) for each head."""
    scores = torch.bmm(q, k.mT)
    return torch.softmax(scores, -1, out=scores)
