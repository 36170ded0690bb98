"""Depthwise convolution along packed sequences as products with banded matrices.

A convolution of each head's values with one short filter is what a grouped conv2d does slowly on a CPU. Here some
sequences stand in one row with gaps of zeros between them, and the row is cut into blocks; a block of
outputs is one small banded matrix, made of the filter, times its window of inputs.

Letters: T tokens, H heads, E dims per head, F taps (odd), S outputs per block, N blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lra.ops.packing import Packing

BLOCK = 32  # S: smaller ones multiply fewer zeros, larger ones are faster per product
POSITIONS = 4096  # of the sequences that are convolved at once, so that they stay in cache


def add_convolution(x_HTE: Tensor, filter_HF: Tensor, packing: Packing, out_HTE: Tensor) -> None:
    """Add each head's correlation with its filter, zeros beyond the ends and in holes, to `out_HTE`.

    out[l] += Σ_f filter[f] · x[l + f − (F − 1) / 2].
    """
    bands_HSW = _bands(filter_HF)
    for rows, layout in _layouts(packing, filter_HF.shape[1]):
        for band, x_TE, out_TE in zip(bands_HSW, x_HTE, out_HTE, strict=True):
            out_TE[rows] += layout.correlate(band, layout.windows(x_TE[rows]))


def add_convolution_backward(
    grad_HTE: Tensor, x_HTE: Tensor, filter_HF: Tensor, packing: Packing, grad_x_HTE: Tensor
) -> Tensor:
    """Gradient of the filter; that of x is added to `grad_x_HTE`."""
    heads, taps = filter_HF.shape
    bands_HSW, width, halo = _bands(filter_HF.flip(1)), BLOCK + taps - 1, taps // 2
    products_HSW = filter_HF.new_zeros(heads, BLOCK, width)  # entry (i, j) belongs to tap j − i
    for rows, layout in _layouts(packing, taps):
        for h in range(heads):
            grads_NWE = layout.windows(grad_HTE[h, rows])
            grad_x_HTE[h, rows] += layout.correlate(bands_HSW[h], grads_NWE)
            outputs_NSE = grads_NWE[:, halo : halo + BLOCK]
            products_HSW[h] += torch.bmm(outputs_NSE, layout.windows(x_HTE[h, rows]).mT).sum(0)
    return products_HSW.as_strided((heads, taps, BLOCK), (BLOCK * width, 1, width + 1)).sum(2)


class _Layout:
    """Some sequences in one row with gaps of at least (F − 1) / 2 zeros before, between and after them.

    Args:
        position_T: of each token in its sequence.
        sequence_T: its sequence's number in the row.
        count: sequences.
        length: positions of the longest.
        taps: F.
    """

    def __init__(self, position_T: Tensor, sequence_T: Tensor, *, count: int, length: int, taps: int):
        self.taps, halo = taps, taps // 2
        stride = -(-(length + halo) // BLOCK) * BLOCK
        self.blocks = count * stride // BLOCK
        self.place_T = sequence_T * stride + position_T
        token = torch.full((count * stride + 2 * halo,), -1)
        token[self.place_T + halo] = torch.arange(len(position_T))
        self.zeros, self.token = (token < 0).nonzero()[:, 0], token.clamp_(min=0)

    def windows(self, x_TE: Tensor) -> Tensor:
        """The overlapping windows `[N, S + F − 1, E]` of the row."""
        row = x_TE.index_select(0, self.token).index_fill_(0, self.zeros, 0)
        dims = x_TE.shape[1]
        return row.as_strided((self.blocks, BLOCK + self.taps - 1, dims), (BLOCK * dims, dims, 1))

    def correlate(self, band_SW: Tensor, windows_NWE: Tensor) -> Tensor:
        """Products `[S, S + F − 1] @ [S + F − 1, E]` for each block, at the tokens: `[T, E]`."""
        out = torch.bmm(band_SW.expand(len(windows_NWE), -1, -1), windows_NWE)
        return out.flatten(0, 1).index_select(0, self.place_T)


def _layouts(packing: Packing, taps: int) -> Iterator[tuple[slice, _Layout]]:
    """Rows and layout of some sequences at a time; kept for all layers of a pass."""
    if taps not in packing.layouts:
        packing.layouts[taps] = list(_make_layouts(packing, taps))
    yield from packing.layouts[taps]


def _make_layouts(packing: Packing, taps: int) -> Iterator[tuple[slice, _Layout]]:
    row = sequence = 0
    while sequence < packing.batch and packing.counts[sequence]:
        length = packing.length if packing.has_holes else packing.counts[sequence]
        counts = packing.counts[sequence : sequence + max(1, POSITIONS // length)]
        rows = slice(row, row + sum(counts))
        position_T, sequence_T = packing.position_T[rows], packing.sequence_T[rows] - sequence
        yield rows, _Layout(position_T, sequence_T, count=len(counts), length=length, taps=taps)
        row, sequence = rows.stop, sequence + len(counts)


def _bands(filter_HF: Tensor) -> Tensor:
    """Banded matrices `[H, S, S + F − 1]`: row i holds the filter from column i on."""
    heads, taps = filter_HF.shape
    width = BLOCK + taps - 1
    bands = filter_HF.new_zeros(heads, BLOCK, width)
    bands.as_strided((heads, BLOCK, taps), (BLOCK * width, width + 1, 1)).copy_(filter_HF[:, None])
    return bands
