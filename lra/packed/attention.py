"""Softmax attention on packed tokens, one sequence at a time, so that no mask is needed: with dropout, and Linformer's.

With dropout, torch's fused CPU kernel would store the whole attention matrix. So attention with dropout is computed for
one block of queries at a time, whose weights stay in cache. The backward pass computes the weights again, and restores
the dropout mask of a block from the block's number.

Operators that compute their own gradients call the fused kernel forward and backward. It stores no weights either: its
backward pass computes them again, from the output and the normalisers.

Letters: T tokens, H heads, E dims per head, W tokens of one sequence, S queries of a block, G sequences of the same
length, Q queries and K keys of each, U sequences that have tokens, P projections, X longest length.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lra.ops.dropout_masks import MOST_ENTRIES, DropoutMasks
from lra.ops.first_order import first_order, without_autocast
from lra.ops.packing import Packing

BLOCK_ENTRIES = MOST_ENTRIES  # attention weights of a block, over all heads: 2 MiB in float32
fused_attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
fused_attention_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
Views = Sequence[Tensor]


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
                grad_scores = _softmax_backward(torch.bmm(grad, v.mT).mul_(keep), weights)
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


def _softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Compute the gradient of the scores; overwrites `grad`."""
    grad_scores: Tensor = torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
    return grad_scores


def attend_each(queries: Views, keys: Views, values: Views, outs: Views) -> list[Tensor]:
    """Write softmax(q kᵀ / √E) v into `outs`, and return the normalisers of the softmax, `[G, H, Q]` for each group.

    Of each group of sequences queries and outputs are `[G, H, Q, E]`, keys and values `[G, H, K, E]`.
    """
    normalisers = []
    for q, k, v, out in zip(queries, keys, values, outs, strict=True):
        mixed, normaliser = fused_attention(q, k, v)
        out.copy_(mixed)
        normalisers.append(normaliser)
    return normalisers


def attend_each_backward(
    grad_outs: Views, inputs: Sequence[Views], outs: Views, normalisers: Views, grad_inputs: Sequence[Views]
) -> None:
    """Write the gradients of queries, keys and values, the `inputs`, into `grad_inputs`."""
    groups = zip(grad_outs, zip(*inputs, strict=True), outs, normalisers, zip(*grad_inputs, strict=True), strict=True)
    for grad_out, qkv, out, normaliser, grads in groups:
        computed = fused_attention_backward(grad_out, *qkv, out, normaliser, 0.0, False)
        for grad, part in zip(grads, computed, strict=True):
            grad.copy_(part)


def packed_linformer(qkv_PTD: Tensor, packing: Packing, key_HPX: Tensor, value_HPX: Tensor, *, heads: int) -> Tensor:
    """Compute softmax(q (W k)ᵀ / √E) (W v) within each sequence, `[T, H·E]`; H = `heads`.

    The packing has no holes, since the columns of W, which each head has for keys and for values, are positions.
    """
    assert not packing.has_holes, "a token's rank in its sequence must be its position"
    q_TD, k_TD, v_TD = qkv_PTD
    keys_UHPE = _ProjectEach.apply(k_TD, key_HPX, packing)
    values_UHPE = _ProjectEach.apply(v_TD, value_HPX, packing)
    sequences = zip(packing.by_head(q_TD, heads), keys_UHPE, values_UHPE, strict=True)
    mixed_WHE = [scaled_dot_product_attention(q[None], k[None], v[None])[0].transpose(0, 1) for q, k, v in sequences]
    return torch.cat(mixed_WHE).flatten(1) if mixed_WHE else q_TD


class _ProjectEach(torch.autograd.Function):
    """Project sequences `[T, H·E]` by `[H, P, X]` to `[U, H, P, E]`; the projection's gradient is summed in place."""

    @staticmethod
    @without_autocast
    def forward(ctx: Any, x: Tensor, projection: Tensor, packing: Packing) -> Tensor:
        ctx.save_for_backward(x, projection)
        ctx.packing = packing
        heads, rows, _ = projection.shape
        out = x.new_empty(packing.used, heads, rows, x.shape[1] // heads)
        for x_HWE, out_HPE in zip(packing.by_head(x, heads), out, strict=True):
            torch.bmm(projection[:, :, : x_HWE.shape[1]], x_HWE, out=out_HPE)
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, projection = ctx.saved_tensors
        heads = len(projection)
        grad_x, grad_projection = torch.empty_like(x), torch.zeros_like(projection)
        sequences = zip(grads[0], *(ctx.packing.by_head(y, heads) for y in (x, grad_x)), strict=True)
        for grad_HPE, x_HWE, grad_x_HWE in sequences:
            seen = slice(x_HWE.shape[1])
            torch.bmm(projection[:, :, seen].mT, grad_HPE, out=grad_x_HWE)
            grad_projection[:, :, seen].baddbmm_(grad_HPE, x_HWE.mT)
        return grad_x, grad_projection, None
