"""The linear layers before and after attention on packed tokens, fused with LayerNorm, dropout and residual.

Letters: T tokens, D model width, O outputs, P planes (queries, keys, values), E columns of a plane.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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
    unfold,
)
from lra.ops.packed.dropout import DropoutMasks


def norm_linear(x_TD: Tensor, gain: Tensor, shift: Tensor, weight_OD: Tensor, bias: Tensor, *, planes: int) -> Tensor:
    """Compute Linear(LayerNorm(x)), with the outputs split into planes `[P, T, E]`, O = P·E.

    `gain` and `shift` are weight and bias of the LayerNorm.
    """
    out_PTE: Tensor = _NormLinear.apply(x_TD, gain, shift, weight_OD, bias, planes)
    return out_PTE


def project_residual(
    x_TD: Tensor, mixed_TD: Tensor, weight_DD: Tensor, bias: Tensor, masks: DropoutMasks | None
) -> Tensor:
    """Compute x + dropout(Linear(mixed)), `[T, D]`; no dropout without masks."""
    out_TD: Tensor = _ProjectResidual.apply(x_TD, mixed_TD, weight_DD, bias, masks)
    return out_TD


class _NormLinear(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, planes: int) -> Tensor:
        ctx.save_for_backward(x, gain, shift, weight)
        folded, offset = (weight * gain).chunk(planes), torch.addmv(bias, weight, shift).view(planes, 1, -1)
        out = x.new_empty(planes, len(x), len(weight) // planes)
        for _, rows, shape in chunks(x, x.shape[1]):
            normal = normalise(x[rows].unflatten(0, shape))[0].flatten(0, 1)
            for plane, part in enumerate(folded):
                torch.mm(normal, part.T, out=out[plane, rows])
            out[:, rows] += offset
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, shift, weight = ctx.saved_tensors
        planes = len(grads[0])
        folded = (weight * gain).chunk(planes)
        grad_x, grads_of = torch.empty_like(x), [LinearGradients(part) for part in folded]
        for _, rows, shape in chunks(x, x.shape[1]):
            normal, inverse = normalise(x[rows].unflatten(0, shape))
            grad_normal = torch.zeros_like(normal)
            for grad, part, gradients in zip(grads[0][:, rows], folded, grads_of, strict=True):
                share = grad.unflatten(0, shape)
                gradients.add(share, normal)
                grad_normal.baddbmm_(share, part.expand(len(share), -1, -1))
            grad_x[rows] = normalise_backward(grad_normal, normal, inverse).flatten(0, 1)
        grad_folded, grad_offset = (torch.cat(parts) for parts in zip(*(g.total() for g in grads_of), strict=True))
        return grad_x, *unfold(grad_folded, grad_offset, gain, shift, weight), None


class _ProjectResidual(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(ctx: Any, x: Tensor, mixed: Tensor, weight: Tensor, bias: Tensor, masks: DropoutMasks | None) -> Tensor:
        ctx.save_for_backward(mixed, weight)
        ctx.masks, ctx.first = masks, masks.reserve(num_chunks(x, max(weight.shape))) if masks else 0
        out = torch.empty_like(x)
        for i, rows, shape in chunks(x, max(weight.shape)):
            projected = linear(mixed[rows].unflatten(0, shape), weight, bias).flatten(0, 1)
            add_dropped(x[rows], projected, masks, ctx.first + i, out[rows])
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        mixed, weight = ctx.saved_tensors
        scale = ctx.masks.scale if ctx.masks else 1.0
        scaled = weight * scale
        grad_mixed, grads_of = torch.empty_like(mixed), LinearGradients(weight)
        for i, rows, shape in chunks(mixed, max(weight.shape)):
            grad = drop(grads[0][rows], ctx.masks, ctx.first + i).unflatten(0, shape)
            torch.mm(grad.flatten(0, 1), scaled, out=grad_mixed[rows])
            grads_of.add(grad, mixed[rows].unflatten(0, shape))
        return grads[0], grad_mixed, *grads_of.total(scale), None
