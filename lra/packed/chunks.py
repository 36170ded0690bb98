"""Building blocks of layers on packed tokens: they compute chunks of rows, split evenly over the cores.

A small model whose operators run one after the other on whole tensors spends most of a step on moving them to memory
and back. Here all operators of a layer run on one chunk of rows while it stays in cache. A layer stores only its input
for the backward pass, which computes the rest again, dropout masks included. The gain and bias of a LayerNorm are
folded into the matrix product that follows.

Letters: T tokens, D model width, K inputs, O outputs, S cores, R rows of a core's share of a chunk.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from lra.ops.dropout_masks import MOST_ENTRIES, DropoutMasks

ROWS = 4096  # most rows of a chunk; its widest tensor, with 128 float32 numbers in a row, then has 2 MiB
LAYER_NORM_EPS = 1e-5  # torch's default ε for LayerNorm


def most_rows(width: int) -> int:
    """Most rows of a chunk whose widest tensor has so many columns: one dropout mask holds them."""
    return min(ROWS, MOST_ENTRIES // width)


def num_chunks(x_TD: Tensor, width: int) -> int:
    """Number of chunks of a tensor; each dropout in a layer needs one mask per chunk."""
    return -(-len(x_TD) // most_rows(width))


def chunks(x_TD: Tensor, width: int) -> Iterator[tuple[int, slice, tuple[int, int]]]:
    """Yield for each chunk its number, its rows, and the shape `(S, R)` that splits the rows over the cores.

    `width` is the number of columns of the widest tensor that is computed for each row.
    """
    size = most_rows(width)
    for i in range(num_chunks(x_TD, width)):
        rows = slice(i * size, min((i + 1) * size, len(x_TD)))
        count = rows.stop - rows.start
        shares = torch.get_num_threads() if count % torch.get_num_threads() == 0 else 1
        yield i, rows, (shares, count // shares)


def normalise(x_SRD: Tensor) -> tuple[Tensor, Tensor]:
    """Compute (x − mean) / √(variance + ε) of each row, and 1 / √(variance + ε) `[S, R, 1]`."""
    centred = x_SRD - row_means(x_SRD)
    inverse_SR1 = row_means(centred * centred).add_(LAYER_NORM_EPS).rsqrt_()
    return centred.mul_(inverse_SR1), inverse_SR1


def normalise_backward(grad_SRD: Tensor, normal_SRD: Tensor, inverse_SR1: Tensor) -> Tensor:
    """Compute the gradient of the input of `normalise`; overwrites `grad_SRD`."""
    along_SR1 = row_means(grad_SRD * normal_SRD)
    grad_SRD.sub_(row_means(grad_SRD)).addcmul_(normal_SRD, along_SR1, value=-1)
    return grad_SRD.mul_(inverse_SR1)


def row_means(x_SRD: Tensor) -> Tensor:
    """Compute the mean of each row, `[S, R, 1]`, by a matrix product: torch's mean is slower for few columns."""
    shares, _, width = x_SRD.shape
    return torch.bmm(x_SRD, x_SRD.new_full((shares, width, 1), 1 / width))


def linear(x_SRK: Tensor, weight_OK: Tensor, bias_O: Tensor) -> Tensor:
    """Compute x Wᵀ + bias, `[S, R, O]`, one share of rows per core."""
    return torch.baddbmm(bias_O, x_SRK, weight_OK.T.expand(len(x_SRK), -1, -1))


def multiply(x_SRK: Tensor, weight_KO: Tensor) -> Tensor:
    """Compute x W, `[S, R, O]`, one share of rows per core."""
    return torch.bmm(x_SRK, weight_KO.expand(len(x_SRK), -1, -1))


class LinearGradients:
    """Sums the gradients of a weight `[O, K]` and a bias `[O]` over chunks, with separate sums for each core."""

    def __init__(self, weight_OK: Tensor):
        shares = torch.get_num_threads()
        self.weight_SOK = weight_OK.new_zeros(shares, *weight_OK.shape)
        self.bias_SO = weight_OK.new_zeros(shares, len(weight_OK))

    def add(self, grad_SRO: Tensor, x_SRK: Tensor) -> None:
        """Add the gradients of one chunk."""
        shares = len(grad_SRO)
        self.weight_SOK[:shares].baddbmm_(grad_SRO.mT, x_SRK)
        self.bias_SO[:shares] += grad_SRO.sum(1)

    def total(self, factor: float = 1.0) -> tuple[Tensor, Tensor]:
        """Return the gradients of weight and bias, multiplied by `factor`."""
        return self.weight_SOK.sum(0).mul_(factor), self.bias_SO.sum(0).mul_(factor)


def unfold_layer_norm(
    grad_folded: Tensor, grad_offset: Tensor, gain: Tensor, shift: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Undo the folding of a LayerNorm into a linear layer, for gradients.

    From the gradients of the folded weight (weight · gain) and the folded bias (bias + weight @ shift), compute those
    of gain, shift, weight and bias.
    """
    grad_weight = torch.addr(grad_folded * gain, grad_offset, shift)
    return (grad_folded * weight).sum(0), weight.T @ grad_offset, grad_weight, grad_offset


def drop(x: Tensor, masks: DropoutMasks | None, number: int) -> Tensor:
    """Set x to 0 where mask `number` drops it, without scaling; the result is a new tensor if there are masks."""
    return x * masks.keep(number, x) if masks else x


def add_dropped(x: Tensor, y: Tensor, masks: DropoutMasks | None, number: int, out: Tensor) -> None:
    """Compute out = x + dropout(y); overwrites y."""
    if masks:
        torch.add(x, y.mul_(masks.keep(number, y)), alpha=masks.scale, out=out)
    else:
        torch.add(x, y, out=out)
