"""The encoder's layers on packed tokens, a few rows at a time.

Written one operator after the other, a small model spends most of a step on carrying tensors to memory and back. Here
all operators of a layer run over some rows while those stay in the core's cache. A layer keeps its input alone, and
its backward pass computes the rest again, dropout masks included. A LayerNorm's gain and bias are folded into the
product that follows. Every function has its one-operator-at-a-time twin in `lra.model`.

Letters: T tokens, D model width, F hidden width, O outputs, R rows of a chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu

from lra.ops.dropout import DropoutMasks

ROWS = 4096  # R: the widest tensor of a chunk, [R, 128] in float32, is 2 MiB
EPS = 1e-5  # torch's default of a LayerNorm


def normalise(x_SRD: Tensor) -> tuple[Tensor, Tensor]:
    """(x − mean) / √(variance + ε) of each row, and 1 / √(variance + ε) `[S, R, 1]`."""
    centred = x_SRD - row_means(x_SRD)
    inverse_SR1 = row_means(centred * centred).add_(EPS).rsqrt_()
    return centred.mul_(inverse_SR1), inverse_SR1


def normalise_backward(grad_SRD: Tensor, normal_SRD: Tensor, inverse_SR1: Tensor) -> Tensor:
    """Gradient of `normalise`'s input; overwrites `grad_SRD`."""
    along_SR1 = row_means(grad_SRD * normal_SRD)
    grad_SRD.sub_(row_means(grad_SRD)).addcmul_(normal_SRD, along_SR1, value=-1)
    return grad_SRD.mul_(inverse_SR1)


def row_means(x_SRD: Tensor) -> Tensor:
    """Mean of each row `[S, R, 1]`, as a product: faster than torch's mean over few columns."""
    shares, _, width = x_SRD.shape
    return torch.bmm(x_SRD, x_SRD.new_full((shares, width, 1), 1 / width))


def linear(x_SRK: Tensor, weight_OK: Tensor, bias_O: Tensor) -> Tensor:
    """x Wᵀ + bias, a share per core: `[S, R, O]`."""
    return torch.baddbmm(bias_O, x_SRK, weight_OK.T.expand(len(x_SRK), -1, -1))


def times(x_SRK: Tensor, weight_KO: Tensor) -> Tensor:
    """x W, a share per core: `[S, R, O]`."""
    return torch.bmm(x_SRK, weight_KO.expand(len(x_SRK), -1, -1))


def num_chunks(x_TD: Tensor) -> int:
    """How many chunks of rows, and so dropout masks of one site, a tensor has."""
    return -(-len(x_TD) // ROWS)


def chunks(x_TD: Tensor) -> Iterator[tuple[int, slice, tuple[int, int]]]:
    """Number and rows of each chunk, and the shape `S, R` of a share of rows per core."""
    for i in range(num_chunks(x_TD)):
        rows = slice(i * ROWS, min((i + 1) * ROWS, len(x_TD)))
        count = rows.stop - rows.start
        shares = torch.get_num_threads() if count % torch.get_num_threads() == 0 else 1
        yield i, rows, (shares, count // shares)


class NormLinear(torch.autograd.Function):
    """Linear(LayerNorm(x)), its outputs cut into planes: `[T, D]` to `[P, T, E]`, O = P·E.

    Arguments x, gain, norm bias, weight `[O, D]`, bias, P.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, planes: int
    ) -> Tensor:
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
            grad = side_by_side(grads[0][:, rows]).unflatten(0, shape)
            normal, inverse = normalise(x[rows].unflatten(0, shape))
            grads_of.add(grad, normal)
            grad_x[rows] = normalise_backward(times(grad, folded), normal, inverse).flatten(0, 1)
        return grad_x, *unfold(grads_of, gain, shift, weight), None


class LinearGradients:
    """Gradients of a weight `[O, K]` and a bias `[O]`, added up over chunks, a share per core."""

    def __init__(self, weight_OK: Tensor):
        shares = torch.get_num_threads()
        self.weight_SOK = weight_OK.new_zeros(shares, *weight_OK.shape)
        self.bias_SO = weight_OK.new_zeros(shares, len(weight_OK))

    def add(self, grad_SRO: Tensor, x_SRK: Tensor) -> None:
        """Add a chunk's."""
        shares = len(grad_SRO)
        self.weight_SOK[:shares].baddbmm_(grad_SRO.mT, x_SRK)
        self.bias_SO[:shares] += grad_SRO.sum(1)

    def total(self, factor: float = 1.0) -> tuple[Tensor, Tensor]:
        """Of weight and bias, times `factor`."""
        return self.weight_SOK.sum(0).mul_(factor), self.bias_SO.sum(0).mul_(factor)


def side_by_side(x_PRE: Tensor) -> Tensor:
    """Planes as columns, `[R, P·E]`."""
    return x_PRE.transpose(0, 1).flatten(1)


def unfold(
    grads_of: LinearGradients, gain: Tensor, shift: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of gain, norm bias, weight and bias from those of weight · gain and bias + weight @ norm bias."""
    grad_folded, grad_offset = grads_of.total()
    grad_weight = torch.addr(grad_folded * gain, grad_offset, shift)
    return (grad_folded * weight).sum(0), weight.T @ grad_offset, grad_weight, grad_offset


class ProjectResidual(torch.autograd.Function):
    """x + dropout(Linear(mixed)): `[T, D]`; arguments x, mixed `[P, T, E]`, weight `[D, P·E]`, bias, masks or None."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mixed: Tensor, weight: Tensor, bias: Tensor, masks: DropoutMasks | None
    ) -> Tensor:
        ctx.save_for_backward(mixed, weight)
        ctx.masks, ctx.first = masks, masks.reserve(num_chunks(x)) if masks else 0
        out = torch.empty_like(x)
        for i, rows, shape in chunks(x):
            projected = linear(side_by_side(mixed[:, rows]).unflatten(0, shape), weight, bias).flatten(0, 1)
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
            grads_of.add(grad, side_by_side(mixed[:, rows]).unflatten(0, shape))
        return grads[0], grad_mixed, *grads_of.total(scale), None


def drop(x: Tensor, masks: DropoutMasks | None, number: int) -> Tensor:
    """x where mask `number` keeps it and 0 elsewhere, not scaled; a new tensor if there are masks."""
    return x * masks.keep(number, x) if masks else x


def add_dropped(x: Tensor, y: Tensor, masks: DropoutMasks | None, number: int, out: Tensor) -> None:
    """out = x + dropout(y); overwrites y."""
    if masks:
        torch.add(x, y.mul_(masks.keep(number, y)), alpha=masks.scale, out=out)
    else:
        torch.add(x, y, out=out)


class FeedForwardResidual(torch.autograd.Function):
    """x + dropout(Linear(dropout(GELU(Linear(LayerNorm(x)))))): `[T, D]`.

    Arguments x, gain, norm bias, weight `[F, D]`, bias, weight `[D, F]`, bias, masks or None.
    """

    @staticmethod
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
        ctx.masks, ctx.first = masks, masks.reserve(2 * num_chunks(x)) if masks else 0
        folded, offset = up * gain, torch.addmv(up_bias, up, shift)
        scaled = down * masks.scale if masks else down
        out = torch.empty_like(x)
        for i, rows, shape in chunks(x):
            number = ctx.first + 2 * i
            hidden = gelu(linear(normalise(x[rows].unflatten(0, shape))[0], folded, offset))
            if masks:
                hidden.mul_(masks.keep(number, hidden))
            fed = linear(hidden, scaled, down_bias).flatten(0, 1)
            add_dropped(x[rows], fed, masks, number + 1, out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, shift, up, up_bias, down = ctx.saved_tensors
        masks = ctx.masks
        scale = masks.scale if masks else 1.0
        folded, offset = up * gain, torch.addmv(up_bias, up, shift)
        twice = down * scale**2
        grad_x, grads_of_up, grads_of_down = torch.empty_like(x), LinearGradients(up), LinearGradients(down)
        for i, rows, shape in chunks(x):
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
            *unfold(grads_of_up, gain, shift, up),
            grad_down.mul_(scale),
            grad_down_bias,
            None,
        )
