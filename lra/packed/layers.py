"""The encoder's layers on packed tokens, each fused with the LayerNorm, dropout and residual connection around it.

They are the embedding, the linear layers before and after attention, the feed-forward network, and the last LayerNorm
with a sum.

Letters: B sequences, T tokens, D model width, F hidden width, V rows of the token embedding, L rows of the position
embedding, O outputs, P planes (queries, keys, values), E columns of a plane.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from lra.ops.dropout_masks import DropoutMasks
from lra.ops.first_order import first_order, without_autocast
from lra.packed.chunks import (
    LinearGradients,
    add_dropped,
    chunks,
    drop,
    linear,
    multiply,
    normalise,
    normalise_backward,
    num_chunks,
    unfold_layer_norm,
)


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
        return grad_x, *unfold_layer_norm(grad_folded, grad_offset, gain, shift, weight), None


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


def embed(
    token_VD: Tensor, position_LD: Tensor, ids_T: Tensor, positions_T: Tensor, masks: DropoutMasks | None
) -> Tensor:
    """Compute dropout(token[ids] + position[positions]), `[T, D]`; no dropout without masks."""
    out_TD: Tensor = _Embed.apply(token_VD, position_LD, ids_T, positions_T, masks)
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
        ctx: Any, token: Tensor, position: Tensor, ids: Tensor, positions: Tensor, masks: DropoutMasks | None
    ) -> Tensor:
        ctx.save_for_backward(ids, positions)
        ctx.masks, ctx.first = masks, masks.reserve(num_chunks(ids, token.shape[1])) if masks else 0
        ctx.rows = len(token), len(position)
        out = token.new_empty(len(ids), token.shape[1])
        for i, rows, _ in chunks(ids, token.shape[1]):
            embedded = token.index_select(0, ids[rows]) + position.index_select(0, positions[rows])
            out[rows] = drop(embedded, masks, ctx.first + i)
        return out.mul_(masks.scale) if masks else out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        ids, positions = ctx.saved_tensors
        scale = ctx.masks.scale if ctx.masks else 1.0
        grad_token, grad_position = (grads[0].new_zeros(count, grads[0].shape[1]) for count in ctx.rows)
        for i, rows, _ in chunks(ids, grads[0].shape[1]):
            grad = drop(grads[0][rows], ctx.masks, ctx.first + i)
            grad_token.index_add_(0, ids[rows], grad)
            grad_position.index_add_(0, positions[rows], grad)
        return grad_token.mul_(scale), grad_position.mul_(scale), None, None, None


class _NormSum(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(ctx: Any, x: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(x)
        ctx.counts = counts
        normal = torch.empty_like(x)
        for _, rows, shape in chunks(x, x.shape[1]):
            normal[rows] = normalise(x[rows].unflatten(0, shape))[0].flatten(0, 1)
        return torch.stack([sequence.sum(0) for sequence in normal.split(counts)])

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        grad_x = torch.empty_like(x)
        sequence_T = torch.arange(len(ctx.counts)).repeat_interleave(torch.tensor(ctx.counts)).to(x.device)
        for _, rows, shape in chunks(x, x.shape[1]):
            normal, inverse = normalise(x[rows].unflatten(0, shape))
            grad = grads[0][sequence_T[rows]].unflatten(0, shape)
            grad_x[rows] = normalise_backward(grad, normal, inverse).flatten(0, 1)
        return grad_x, None


def feed_forward_residual(
    x_TD: Tensor, norm: nn.LayerNorm, up: nn.Linear, down: nn.Linear, masks: DropoutMasks | None
) -> Tensor:
    """Compute x + dropout(down(dropout(GELU(up(norm(x)))))), `[T, D]`; no dropout without masks."""
    tensors = norm.weight, norm.bias, up.weight, up.bias, down.weight, down.bias
    out_TD: Tensor = _FeedForwardResidual.apply(x_TD, *tensors, masks)
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
            grad_hidden = multiply(grad_fed, twice)
            if masks:
                keep = masks.keep(number, hidden)
                hidden, grad_hidden = hidden.mul_(keep), grad_hidden.mul_(keep)
            grads_of_down.add(grad_fed, hidden)
            grad_raw = torch.ops.aten.gelu_backward(grad_hidden, raw)
            grads_of_up.add(grad_raw, normal)
            grad_normal = normalise_backward(multiply(grad_raw, folded), normal, inverse).flatten(0, 1)
            torch.add(grads[0][rows], grad_normal, out=grad_x[rows])
        grad_down, grad_down_bias = grads_of_down.total(scale)
        grads_of_norm_and_up = unfold_layer_norm(*grads_of_up.total(), gain, shift, up)
        return grad_x, *grads_of_norm_and_up, grad_down.mul_(scale), grad_down_bias, None
