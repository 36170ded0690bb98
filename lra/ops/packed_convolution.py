"""Depthwise convolution along packed sequences as products with banded matrices.

A convolution of each head's values with one short filter is what a grouped conv2d does slowly on a CPU. Here a
sequence is cut into blocks; a block of outputs is one small banded matrix, made of the filter, times its window of
inputs, for all sequences of a group and all dims at once.

Letters: T tokens, H heads, E dims per head, F taps (odd), S outputs per block, N blocks, G sequences of a group,
C = G·E columns, P padded positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lra.ops.packing import GROUP_ROWS, Packing

BLOCK = 64  # S: 32 to 128 are within 15 % of each other


def add_convolution(x_TD: Tensor, filter_HF: Tensor, packing: Packing, out_TD: Tensor) -> None:
    """Add each head's correlation with its filter, zeros beyond the ends and in holes, to `out_TD`; all `[T, H·E]`.

    out[l] += Σ_f filter[f] · x[l + f − (F − 1) / 2].
    """
    taps = filter_HF.shape[1]
    bands = _bands(filter_HF)
    for rows, places, positions, count in _groups(packing):
        windows = _windows(_spread(x_TD[rows], len(bands), places, positions, count, taps), count, taps)
        out_TD[rows] += _gather(_correlate(bands, windows), places, count)


def add_convolution_backward(
    grad_TD: Tensor, x_TD: Tensor, filter_HF: Tensor, packing: Packing, grad_x_TD: Tensor
) -> Tensor:
    """Gradient of the filter; that of x is added to `grad_x_TD`."""
    heads, taps = filter_HF.shape
    bands, width = _bands(filter_HF.flip(1)), BLOCK + taps - 1
    products = filter_HF.new_zeros(heads, BLOCK, width)  # entry (i, j) belongs to tap j − i
    for rows, places, positions, count in _groups(packing):
        grads = _spread(grad_TD[rows], heads, places, positions, count, taps)
        windows = _windows(_spread(x_TD[rows], heads, places, positions, count, taps), count, taps)
        grad_x_TD[rows] += _gather(_correlate(bands, _windows(grads, count, taps)), places, count)
        outputs = grads[:, taps // 2 * count : -(taps // 2) * count or None].reshape(*windows.shape[:2], BLOCK, -1)
        for h in range(heads):
            products[h].addbmm_(outputs[h], windows[h].mT)
    return products.as_strided((heads, taps, BLOCK), (BLOCK * width, 1, width + 1)).sum(2)


def _groups(packing: Packing) -> Iterator[tuple[slice, Tensor, int, int]]:
    """Rows of some sequences, the place of each in `[positions · G]`, how many positions, and G."""
    if packing.has_holes:
        size = max(1, GROUP_ROWS // packing.length)
        starts = range(0, packing.batch, size)
        counts = [packing.counts[start : start + size] for start in starts]
        lengths = [packing.length] * len(counts)
    else:
        counts = [group.counts for group in packing.groups]
        lengths = [group[0] for group in counts]
    row = sequence = 0
    for group, length in zip(counts, lengths, strict=True):
        rows = slice(row, row + sum(group))
        places = packing.position_T[rows] * len(group) + (packing.sequence_T[rows] - sequence)
        yield rows, places, length, len(group)
        row, sequence = rows.stop, sequence + len(group)


def _spread(x_TD: Tensor, heads: int, places: Tensor, positions: int, count: int, taps: int) -> Tensor:
    """Put tokens in their places, zeros elsewhere: `[H, (halo + N·S + halo) · G, E]`."""
    halo, blocks = taps // 2, -(-positions // BLOCK)
    out = x_TD.new_zeros(heads, (blocks * BLOCK + 2 * halo) * count, x_TD.shape[1] // heads)
    for head, x in zip(out, x_TD.chunk(heads, 1), strict=True):
        head.index_copy_(0, places + halo * count, x)
    return out


def _windows(spread: Tensor, count: int, taps: int) -> Tensor:
    """The overlapping windows `[H, N, S + F − 1, C]`, without a copy."""
    heads, rows, dims = spread.shape
    columns, width = count * dims, BLOCK + taps - 1
    blocks = (rows // count - taps + 1) // BLOCK
    return spread.as_strided((heads, blocks, width, columns), (rows * dims, BLOCK * columns, columns, 1))


def _bands(filter_HF: Tensor) -> Tensor:
    """Banded matrices `[H, S, S + F − 1]`: row i holds the filter from column i on."""
    heads, taps = filter_HF.shape
    width = BLOCK + taps - 1
    bands = filter_HF.new_zeros(heads, BLOCK, width)
    bands.as_strided((heads, BLOCK, taps), (BLOCK * width, width + 1, 1)).copy_(filter_HF[:, None])
    return bands


def _correlate(bands: Tensor, windows: Tensor) -> Tensor:
    """Products `[S, S + F − 1] @ [S + F − 1, C]` for each head and block: `[H, N·S, C]`."""
    return torch.stack(
        [torch.bmm(band.expand(len(blocks), -1, -1), blocks) for band, blocks in zip(bands, windows, strict=True)]
    ).flatten(1, 2)


def _gather(out_HPC: Tensor, places: Tensor, count: int) -> Tensor:
    """Back to tokens, `[T, H·E]`."""
    heads = out_HPC.unflatten(2, (count, -1)).flatten(1, 2)
    return torch.cat([head.index_select(0, places) for head in heads], dim=1)
