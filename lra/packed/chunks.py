"""Building blocks of the layers on packed tokens: a few rows at a time, split evenly over the cores.

Written one operator after the other, a small model spends most of a step on carrying tensors to memory and back. Here
all operators of a layer run over some rows while those stay in cache. A layer keeps its input alone, and its backward
pass computes the rest again, dropout masks included. A LayerNorm's gain and bias are folded into the product that
follows.

Letters: T tokens, D model width, K inputs, O outputs, S cores, R rows of a core's share of a chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lra.packed.dropout import DropoutMasks

ROWS = 4096  # of a chunk: its widest tensor, 128 float32 numbers to a row, is 2 MiB
EPS = 1e-5  # torch's default of a LayerNorm


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


def unfold(
    grad_folded: Tensor, grad_offset: Tensor, gain: Tensor, shift: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of gain, norm bias, weight and bias from those of weight · gain and bias + weight @ norm bias."""
    grad_weight = torch.addr(grad_folded * gain, grad_offset, shift)
    return (grad_folded * weight).sum(0), weight.T @ grad_offset, grad_weight, grad_offset


def drop(x: Tensor, masks: DropoutMasks | None, number: int) -> Tensor:
    """x where mask `number` keeps it and 0 elsewhere, not scaled; a new tensor if there are masks."""
    return x * masks.keep(number, x) if masks else x


def add_dropped(x: Tensor, y: Tensor, masks: DropoutMasks | None, number: int, out: Tensor) -> None:
    """out = x + dropout(y); overwrites y."""
    if masks:
        torch.add(x, y.mul_(masks.keep(number, y)), alpha=masks.scale, out=out)
    else:
        torch.add(x, y, out=out)
