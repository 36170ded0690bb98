"""Softmax attention on packed tokens, one sequence or group of equally long ones at a time, so that no mask is needed.

Operators that compute their own gradients call the fused kernel forward and backward. It stores no weights: its
backward pass computes them again, from the output and the normalisers.

Letters: T tokens, H heads, E dims per head, W tokens of one sequence, G sequences of the same length, Q queries and K
keys of each, U sequences that have tokens, P projections, X longest length.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packing import Packing
from lra.ops.private_torch import fused_attention, fused_attention_backward

Views = Sequence[Tensor]


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
