"""The feed-forward network on packed tokens, fused with its LayerNorm, dropout and residual connection.

Letters: T tokens, D model width, F hidden width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packed.chunks import (
    LinearGradients,
    add_dropped,
    chunks,
    drop,
    linear,
    normalise,
    normalise_backward,
    num_chunks,
    times,
    unfold,
)
from lra.ops.packed.dropout import DropoutMasks


def feed_forward_residual(
    x_TD: Tensor,
    gain: Tensor,
    shift: Tensor,
    up_FD: Tensor,
    up_bias: Tensor,
    down_DF: Tensor,
    down_bias: Tensor,
    masks: DropoutMasks | None,
) -> Tensor:
    """Compute x + dropout(Linear(dropout(GELU(Linear(LayerNorm(x)))))), `[T, D]`.

    `gain` and `shift` are weight and bias of the LayerNorm; without masks there is no dropout.
    """
    out_TD: Tensor = _FeedForwardResidual.apply(x_TD, gain, shift, up_FD, up_bias, down_DF, down_bias, masks)
    return out_TD


class _FeedForwardResidual(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(
        ctx: Any,
        x: Tensor,
        gain: Tensor,
        shift: Tensor,
        up: Tensor,
        up_bias: Tensor,
        down: Tensor,
        down_bias: Tensor,
        masks: DropoutMasks | None,
    ) -> Tensor:
        ctx.save_for_backward(x, gain, shift, up, up_bias, down)
        widest = max(up.shape)
        ctx.masks, ctx.first = masks, masks.reserve(2 * num_chunks(x, widest)) if masks else 0
        folded, offset = up * gain, torch.addmv(up_bias, up, shift)
        scaled = down * masks.scale if masks else down
        out = torch.empty_like(x)
        for i, rows, shape in chunks(x, widest):
            number = ctx.first + 2 * i
            hidden = gelu(linear(normalise(x[rows].unflatten(0, shape))[0], folded, offset))
            if masks:
                hidden.mul_(masks.keep(number, hidden))
            fed = linear(hidden, scaled, down_bias).flatten(0, 1)
            add_dropped(x[rows], fed, masks, number + 1, out[rows])
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, shift, up, up_bias, down = ctx.saved_tensors
        masks = ctx.masks
        scale = masks.scale if masks else 1.0
        folded, offset = up * gain, torch.addmv(up_bias, up, shift)
        twice = down * scale**2
        grad_x, grads_of_up, grads_of_down = torch.empty_like(x), LinearGradients(up), LinearGradients(down)
        for i, rows, shape in chunks(x, max(up.shape)):
            number = ctx.first + 2 * i
            normal, inverse = normalise(x[rows].unflatten(0, shape))
            raw = linear(normal, folded, offset)
            hidden, grad_fed = gelu(raw), drop(grads[0][rows], masks, number + 1).unflatten(0, shape)
            grad_hidden = times(grad_fed, twice)
            if masks:
                keep = masks.keep(number, hidden)
                hidden, grad_hidden = hidden.mul_(keep), grad_hidden.mul_(keep)
            grads_of_down.add(grad_fed, hidden)
            grad_raw = torch.ops.aten.gelu_backward(grad_hidden, raw)
            grads_of_up.add(grad_raw, normal)
            grad_normal = normalise_backward(times(grad_raw, folded), normal, inverse).flatten(0, 1)
            torch.add(grads[0][rows], grad_normal, out=grad_x[rows])
        grad_down, grad_down_bias = grads_of_down.total(scale)
        return (
            grad_x,
            *unfold(*grads_of_up.total(), gain, shift, up),
            grad_down.mul_(scale),
            grad_down_bias,
            None,
        )
