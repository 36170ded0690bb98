"""First and last layers of the encoder on packed tokens: embedding with dropout, last LayerNorm with a sum.

Letters: B sequences, T tokens, D model width, V rows of the token embedding, L rows of the position embedding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packed.chunks import chunks, drop, normalise, normalise_backward, num_chunks
from lra.ops.packed.dropout import DropoutMasks


def embed(token_VD: Tensor, position_LD: Tensor, ids_T: Tensor, places_T: Tensor, masks: DropoutMasks | None) -> Tensor:
    """Compute dropout(token[ids] + position[places]), `[T, D]`; no dropout without masks."""
    out_TD: Tensor = _Embed.apply(token_VD, position_LD, ids_T, places_T, masks)
    return out_TD


def norm_sum(x_TD: Tensor, counts: list[int]) -> Tensor:
    """Sum the normalised rows of each sequence, without gain and bias: `[B, D]`.

    `counts` has the number of tokens of each sequence.
    """
    out_BD: Tensor = _NormSum.apply(x_TD, counts)
    return out_BD


class _Embed(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(
        ctx: Any, token: Tensor, position: Tensor, ids: Tensor, places: Tensor, masks: DropoutMasks | None
    ) -> Tensor:
        ctx.save_for_backward(ids, places)
        ctx.masks, ctx.first = masks, masks.reserve(num_chunks(ids, token.shape[1])) if masks else 0
        ctx.rows = len(token), len(position)
        out = token.new_empty(len(ids), token.shape[1])
        for i, rows, _ in chunks(ids, token.shape[1]):
            embedded = token.index_select(0, ids[rows]) + position.index_select(0, places[rows])
            out[rows] = drop(embedded, masks, ctx.first + i)
        return out.mul_(masks.scale) if masks else out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        ids, places = ctx.saved_tensors
        scale = ctx.masks.scale if ctx.masks else 1.0
        grad_token, grad_position = (grads[0].new_zeros(count, grads[0].shape[1]) for count in ctx.rows)
        for i, rows, _ in chunks(ids, grads[0].shape[1]):
            grad = drop(grads[0][rows], ctx.masks, ctx.first + i)
            grad_token.index_add_(0, ids[rows], grad)
            grad_position.index_add_(0, places[rows], grad)
        return grad_token.mul_(scale), grad_position.mul_(scale), None, None, None


class _NormSum(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(ctx: Any, x: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(x)
        ctx.counts = counts
        return torch.cat([normalise(rows[None])[0].sum(1) for rows in x.split(counts)])

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        grad_x = torch.empty_like(x)
        for rows, out, grad in zip(x.split(ctx.counts), grad_x.split(ctx.counts), grads[0], strict=True):
            normal, inverse = normalise(rows[None])
            out.copy_(normalise_backward(grad.expand(normal.shape).contiguous(), normal, inverse)[0])
        return grad_x, None
