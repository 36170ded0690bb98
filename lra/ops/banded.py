"""Depthwise convolution along the sequence as products with banded matrices.

A convolution of each head's values with one short filter is what a grouped conv2d does slowly on a CPU. Here the
sequence is cut into blocks; a block of outputs is one small banded matrix, made of the filter, times its window of
inputs, for all examples and dims at once.

Letters: B examples, H heads, L positions, E dims per head, T taps (odd), S outputs per block, W = S + T - 1 inputs
that they need, N blocks, C = B·E columns.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d

BLOCK = 64  # S: 32 to 128 are within 15 % of each other


def depthwise_convolution(x_BHLE: Tensor, filter_HT: Tensor) -> Tensor:
    """Correlate every head's sequence with that head's filter, zeros beyond the ends; keeps `[B, H, L, E]`.

    out[l] = Σ_t filter[t] · x[l + t − (T − 1) / 2].
    """
    if x_BHLE.device.type == "cpu":
        out: Tensor = _BandedConvolution.apply(x_BHLE, filter_HT)
        return out
    heads, taps = filter_HT.shape
    return conv2d(x_BHLE, filter_HT.view(heads, 1, taps, 1), padding=(taps // 2, 0), groups=heads)


class _BandedConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_BHLE: Tensor, filter_HT: Tensor) -> Tensor:
        padded = _pad(x_BHLE, filter_HT.shape[1])
        ctx.save_for_backward(padded, filter_HT)
        ctx.length, ctx.dims = x_BHLE.shape[2:]
        return _from_columns(_banded(padded, filter_HT), x_BHLE.shape[2], x_BHLE.shape[3])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (grad_BHLE,) = grads
        padded, filter_HT = ctx.saved_tensors
        taps = filter_HT.shape[1]
        grad_padded = _pad(grad_BHLE, taps)
        grad_x = grad_filter = None
        if ctx.needs_input_grad[0]:
            grad_x = _from_columns(_banded(grad_padded, filter_HT.flip(1)), ctx.length, ctx.dims)
        if ctx.needs_input_grad[1]:
            blocks = (padded.shape[1] - taps + 1) // BLOCK
            halo = taps // 2
            outputs = grad_padded[:, halo : halo + blocks * BLOCK].unflatten(1, (blocks, BLOCK))
            windows = _windows(padded, taps)
            products = torch.stack(
                [torch.bmm(outputs[h], windows[h].mT).sum(0) for h in range(len(filter_HT))]
            )  # [H, S, W]: entry (i, j) belongs to tap j - i
            width = BLOCK + taps - 1
            grad_filter = products.as_strided((len(filter_HT), taps, BLOCK), (BLOCK * width, 1, width + 1)).sum(2)
        return grad_x, grad_filter


def _pad(x_BHLE: Tensor, taps: int) -> Tensor:
    """Lay out as `[H, halo + N·S + halo, C]`, zeros around."""
    batch, heads, length, dims = x_BHLE.shape
    blocks, halo = -(-length // BLOCK), taps // 2
    padded = x_BHLE.new_empty(heads, blocks * BLOCK + 2 * halo, batch, dims)
    padded[:, :halo].zero_()
    padded[:, halo + length :].zero_()
    padded[:, halo : halo + length] = x_BHLE.permute(1, 2, 0, 3)
    return padded.flatten(2)


def _windows(padded: Tensor, taps: int) -> Tensor:
    """The overlapping windows `[H, N, W, C]` of `_pad`'s layout, without a copy."""
    heads, rows, columns = padded.shape
    blocks = (rows - taps + 1) // BLOCK
    return padded.as_strided((heads, blocks, BLOCK + taps - 1, columns), (rows * columns, BLOCK * columns, columns, 1))


def _banded(padded: Tensor, filter_HT: Tensor) -> Tensor:
    """The correlation as products `[S, W] @ [W, C]` for each head and block; `[H, N·S, C]`."""
    heads, taps = filter_HT.shape
    band = filter_HT.new_zeros(heads, BLOCK, BLOCK + taps - 1)
    band.as_strided((heads, BLOCK, taps), (BLOCK * (BLOCK + taps - 1), BLOCK + taps, 1)).copy_(
        filter_HT[:, None, :].expand(heads, BLOCK, taps)
    )
    windows = _windows(padded, taps)
    blocks = windows.shape[1]
    out = padded.new_empty(heads, blocks, BLOCK, padded.shape[2])
    for h in range(heads):
        torch.bmm(band[h].expand(blocks, -1, -1), windows[h], out=out[h])
    return out.flatten(1, 2)


def _from_columns(out_HLC: Tensor, length: int, dims: int) -> Tensor:
    """Back to `[B, H, L, E]`, as a view."""
    return out_HLC[:, :length].unflatten(2, (-1, dims)).permute(2, 0, 1, 3)
