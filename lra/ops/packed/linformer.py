"""Linformer's attention on packed tokens: each sequence is projected and attends by itself, so padding is not computed.

Letters: T tokens, U sequences that have tokens, H heads, E dims per head, W tokens of one sequence, P projections,
X longest length.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packed.packing import Packing


def packed_linformer(qkv_PTD: Tensor, packing: Packing, key_HPX: Tensor, value_HPX: Tensor, *, heads: int) -> Tensor:
    """Compute softmax(q (W k)ᵀ / √E) (W v) within each sequence, `[T, H·E]`.

    Args:
        qkv_PTD: queries, keys and values, `[3, T, H·E]`.
        packing: the tokens' places in the padded batch; without holes, since W's columns are positions.
        key_HPX: projection of the keys for each head.
        value_HPX: projection of the values for each head.
        heads: H.
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
