"""The two linear layers around attention, with their LayerNorm, dropout and residual, on packed tokens.

Letters: T tokens, D model width, O outputs, P planes, E columns of a plane.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lra.ops.chunks import (
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
from lra.ops.dropout import DropoutMasks


def norm_linear(x_TD: Tensor, gain: Tensor, shift: Tensor, weight_OD: Tensor, bias: Tensor, planes: int) -> Tensor:
    """Linear(LayerNorm(x)), its outputs cut into planes `[P, T, E]`, O = P·E; `gain` and `shift` are the norm's."""
    out_PTE: Tensor = _NormLinear.apply(x_TD, gain, shift, weight_OD, bias, planes)
    return out_PTE


def project_residual(
    x_TD: Tensor, mixed_PTE: Tensor, weight_DO: Tensor, bias: Tensor, masks: DropoutMasks | None
) -> Tensor:
    """x + dropout(Linear(mixed)), the planes side by side, O = P·E; no dropout without masks; `[T, D]`."""
    out_TD: Tensor = _ProjectResidual.apply(x_TD, mixed_PTE, weight_DO, bias, masks)
    return out_TD


class _NormLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, planes: int) -> Tensor:
        ctx.save_for_backward(x, gain, shift, weight)
        folded, offset = weight * gain, torch.addmv(bias, weight, shift).view(planes, 1, -1)
        out = x.new_empty(planes, len(x), len(weight) // planes)
        for _, rows, shape in chunks(x):
            outputs = times(normalise(x[rows].unflatten(0, shape))[0], folded.T).flatten(0, 1)
            torch.add(outputs.unflatten(1, (planes, -1)).transpose(0, 1), offset, out=out[:, rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, shift, weight = ctx.saved_tensors
        folded = weight * gain
        grad_x, grads_of = torch.empty_like(x), LinearGradients(weight)
        for _, rows, shape in chunks(x):
            grad = _side_by_side(grads[0][:, rows]).unflatten(0, shape)
            normal, inverse = normalise(x[rows].unflatten(0, shape))
            grads_of.add(grad, normal)
            grad_x[rows] = normalise_backward(times(grad, folded), normal, inverse).flatten(0, 1)
        return grad_x, *unfold(grads_of, gain, shift, weight), None


class _ProjectResidual(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mixed: Tensor, weight: Tensor, bias: Tensor, masks: DropoutMasks | None) -> Tensor:
        ctx.save_for_backward(mixed, weight)
        ctx.masks, ctx.first = masks, masks.reserve(num_chunks(x)) if masks else 0
        out = torch.empty_like(x)
        for i, rows, shape in chunks(x):
            projected = linear(_side_by_side(mixed[:, rows]).unflatten(0, shape), weight, bias).flatten(0, 1)
            add_dropped(x[rows], projected, masks, ctx.first + i, out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        mixed, weight = ctx.saved_tensors
        scale = ctx.masks.scale if ctx.masks else 1.0
        scaled = weight * scale
        grad_mixed, grads_of = torch.empty_like(mixed), LinearGradients(weight)
        for i, rows, shape in chunks(grads[0]):
            grad = drop(grads[0][rows], ctx.masks, ctx.first + i).unflatten(0, shape)
            outputs = times(grad, scaled).flatten(0, 1)
            grad_mixed[:, rows] = outputs.unflatten(1, (len(mixed), -1)).transpose(0, 1)
            grads_of.add(grad, _side_by_side(mixed[:, rows]).unflatten(0, shape))
        return grads[0], grad_mixed, *grads_of.total(scale), None


def _side_by_side(x_PRE: Tensor) -> Tensor:
    """Planes as columns, `[R, P·E]`."""
    return x_PRE.transpose(0, 1).flatten(1)
