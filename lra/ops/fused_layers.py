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

ROWS = 1024  # R: a chunk's widest tensor, [R, 128] in float32, is 512 KiB
EPS = 1e-5  # torch's default of a LayerNorm


def normalise(x_RD: Tensor) -> tuple[Tensor, Tensor]:
    """(x − mean) / √(variance + ε) of each row, and 1 / √(variance + ε) `[R, 1]`."""
    centred = x_RD - x_RD.mean(-1, keepdim=True)
    inverse_R1 = (centred * centred).mean(-1, keepdim=True).add_(EPS).rsqrt_()
    return centred.mul_(inverse_R1), inverse_R1


def normalise_backward(grad_RD: Tensor, normal_RD: Tensor, inverse_R1: Tensor) -> Tensor:
    """Gradient of `normalise`'s input; overwrites `grad_RD`."""
    along_R1 = (grad_RD * normal_RD).mean(-1, keepdim=True)
    grad_RD.sub_(grad_RD.mean(-1, keepdim=True)).addcmul_(normal_RD, along_R1, value=-1)
    return grad_RD.mul_(inverse_R1)


def num_chunks(x_TD: Tensor) -> int:
    """How many chunks of rows, and so dropout masks of one site, a tensor has."""
    return -(-len(x_TD) // ROWS)


def chunks(x_TD: Tensor) -> Iterator[tuple[int, slice]]:
    """Number and rows of each chunk."""
    for i in range(num_chunks(x_TD)):
        yield i, slice(i * ROWS, min((i + 1) * ROWS, len(x_TD)))


class NormLinear(torch.autograd.Function):
    """Linear(LayerNorm(x)): `[T, D]` to `[T, O]`; arguments x, gain, norm bias, weight `[O, D]`, bias."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, gain, shift, weight)
        folded, offset = weight * gain, torch.addmv(bias, weight, shift)
        out = x.new_empty(len(x), len(weight))
        for _, rows in chunks(x):
            torch.addmm(offset, normalise(x[rows])[0], folded.T, out=out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        x, gain, shift, weight = ctx.saved_tensors
        folded = weight * gain
        grad_x, grad_folded, grad_offset = torch.empty_like(x), torch.zeros_like(weight), torch.zeros_like(weight[:, 0])
        for _, rows in chunks(x):
            grad = grads[0][rows]
            normal, inverse = normalise(x[rows])
            grad_folded.addmm_(grad.T, normal)
            grad_offset += grad.sum(0)
            grad_x[rows] = normalise_backward(grad @ folded, normal, inverse)
        return grad_x, *unfold(grad_folded, grad_offset, gain, shift, weight)


def unfold(
    grad_folded: Tensor, grad_offset: Tensor, gain: Tensor, shift: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of gain, norm bias, weight and bias from those of weight · gain and bias + weight @ norm bias."""
    grad_weight = torch.addr(grad_folded * gain, grad_offset, shift)
    return (grad_folded * weight).sum(0), weight.T @ grad_offset, grad_weight, grad_offset


class ProjectResidual(torch.autograd.Function):
    """x + dropout(Linear(mixed)): `[T, D]`; arguments x, mixed `[T, O]`, weight `[D, O]`, bias, masks or None."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mixed: Tensor, weight: Tensor, bias: Tensor, masks: DropoutMasks | None
    ) -> Tensor:
        ctx.save_for_backward(mixed, weight)
        ctx.masks, ctx.first = masks, masks.reserve(num_chunks(x)) if masks else 0
        out = torch.empty_like(x)
        for i, rows in chunks(x):
            projected = torch.addmm(bias, mixed[rows], weight.T)
            add_dropped(x[rows], projected, masks, ctx.first + i, out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        mixed, weight = ctx.saved_tensors
        scale = ctx.masks.scale if ctx.masks else 1.0
        scaled = weight * scale
        grad_mixed, grad_weight, grad_bias = torch.empty_like(mixed), torch.zeros_like(weight), torch.zeros_like(weight[:, 0])
        for i, rows in chunks(mixed):
            grad = drop(grads[0][rows], ctx.masks, ctx.first + i)
            torch.mm(grad, scaled, out=grad_mixed[rows])
            grad_weight.addmm_(grad.T, mixed[rows])
            grad_bias += grad.sum(0)
        return grads[0], grad_mixed, grad_weight.mul_(scale), grad_bias.mul_(scale), None


def drop(x: Tensor, masks: DropoutMasks | None, number: int) -> Tensor:
    """x where mask `number` keeps it and 0 elsewhere, not scaled; a new tensor if there are masks."""
    return x * masks.keep(number, x) if masks else x


def add_dropped(x: Tensor, y: Tensor, masks: DropoutMasks | None, number: int, out: Tensor) -> None:
    """out = x + dropout(y)."""
    if masks:
        torch.addcmul(x, y, masks.keep(number, y), value=masks.scale, out=out)
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
        for i, rows in chunks(x):
            number = ctx.first + 2 * i
            hidden = gelu(torch.addmm(offset, normalise(x[rows])[0], folded.T))
            fed = torch.addmm(down_bias, drop(hidden, masks, number), scaled.T)
            add_dropped(x[rows], fed, masks, number + 1, out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, shift, up, up_bias, down = ctx.saved_tensors
        masks = ctx.masks
        scale = masks.scale if masks else 1.0
        folded, offset = up * gain, torch.addmv(up_bias, up, shift)
        twice = down * scale**2
        grad_x, grad_folded, grad_down = torch.empty_like(x), torch.zeros_like(up), torch.zeros_like(down)
        grad_offset, grad_down_bias = torch.zeros_like(offset), torch.zeros_like(down[:, 0])
        for i, rows in chunks(x):
            number = ctx.first + 2 * i
            normal, inverse = normalise(x[rows])
            raw = torch.addmm(offset, normal, folded.T)
            hidden, grad_fed = gelu(raw), drop(grads[0][rows], masks, number + 1)
            grad_hidden = grad_fed @ twice
            if masks:
                keep = masks.keep(number, hidden)
                hidden, grad_hidden = hidden.mul_(keep), grad_hidden.mul_(keep)
            grad_down.addmm_(grad_fed.T, hidden)
            grad_down_bias += grad_fed.sum(0)
            grad_raw = torch.ops.aten.gelu_backward(grad_hidden, raw)
            grad_folded.addmm_(grad_raw.T, normal)
            grad_offset += grad_raw.sum(0)
            torch.add(grads[0][rows], normalise_backward(grad_raw @ folded, normal, inverse), out=grad_x[rows])
        return (
            grad_x,
            *unfold(grad_folded, grad_offset, gain, shift, up),
            grad_down.mul_(scale**2),
            grad_down_bias.mul_(scale),
            None,
        )
