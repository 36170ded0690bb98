"""Depthwise convolution along packed sequences as products with banded matrices.

It convolves each head's values with one short filter, as a grouped conv2d does, which is slow on a CPU. Several
sequences are laid in one row with zeros between them, and the row is cut into blocks. A block of outputs is the product
of a small banded matrix, which holds the filter, and the block's window of inputs.

Letters: T tokens, D = H·E width, H heads, E dims per head, F taps (odd), S outputs per block, N blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lra.ops.packed.packing import Packing

BLOCK = 32  # S: small blocks multiply fewer zeros, large blocks have faster products
POSITIONS = 4096  # positions of the sequences in one row, so that they stay in cache


def add_convolution(x_TD: Tensor, filter_HF: Tensor, packing: Packing, to_TD: Tensor) -> Tensor:
    """Correlate each head's values with its filter, and return the sum of the result and `to_TD`; all `[T, H·E]`.

    out[l] = to[l] + Σ_f filter[f] · x[l + f − (F − 1) / 2], where x is 0 beyond the ends and at padding.
    """
    bands_HSW, out_TD = _bands(filter_HF), torch.empty_like(to_TD)
    for rows, layout in _layouts(packing, filter_HF.shape[1]):
        torch.add(to_TD[rows], layout.correlate(bands_HSW, layout.windows(x_TD[rows])), out=out_TD[rows])
    return out_TD


def add_convolution_backward(
    grad_TD: Tensor, x_TD: Tensor, filter_HF: Tensor, packing: Packing, grad_x_TD: Tensor
) -> Tensor:
    """Return the gradient of the filter, and add the gradient of x to `grad_x_TD`."""
    heads, taps = filter_HF.shape
    bands_HSW, width, halo = _bands(filter_HF.flip(1)), BLOCK + taps - 1, taps // 2
    products_HSW = filter_HF.new_zeros(heads, BLOCK, width)  # entry (i, j) belongs to tap j − i
    for rows, layout in _layouts(packing, taps):
        grads_NWD, windows_NWD = layout.windows(grad_TD[rows]), layout.windows(x_TD[rows])
        grad_x_TD[rows] += layout.correlate(bands_HSW, grads_NWD)
        outputs_NSD = grads_NWD[:, halo : halo + BLOCK]
        parts = zip(products_HSW, outputs_NSD.chunk(heads, 2), windows_NWD.chunk(heads, 2), strict=True)
        for product_SW, outputs_NSE, windows_NWE in parts:
            product_SW += torch.bmm(outputs_NSE, windows_NWE.mT).sum(0)
    return products_HSW.as_strided((heads, taps, BLOCK), (BLOCK * width, 1, width + 1)).sum(2)


class _Layout:
    """Places of several sequences in one row, with at least (F − 1) / 2 zeros before, between and after them.

    Args:
        position_T: position of each token in its sequence.
        sequence_T: number of each token's sequence in the row.
        count: number of sequences.
        length: positions of the longest sequence.
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

    def windows(self, x_TD: Tensor) -> Tensor:
        """Build the overlapping windows `[N, S + F − 1, D]` of the row."""
        row = x_TD.index_select(0, self.token).index_fill_(0, self.zeros, 0)
        width = x_TD.shape[1]
        return row.as_strided((self.blocks, BLOCK + self.taps - 1, width), (BLOCK * width, width, 1))

    def correlate(self, bands_HSW: Tensor, windows_NWD: Tensor) -> Tensor:
        """Multiply `[S, S + F − 1] @ [S + F − 1, E]` for each head and block; return the tokens' rows, `[T, D]`."""
        outputs = [
            torch.bmm(band.expand(len(windows_NWD), -1, -1), windows_NWE)
            for band, windows_NWE in zip(bands_HSW, windows_NWD.chunk(len(bands_HSW), 2), strict=True)
        ]
        return torch.cat(outputs, 2).flatten(0, 1).index_select(0, self.place_T)


def _layouts(packing: Packing, taps: int) -> Iterator[tuple[slice, _Layout]]:
    """Yield token rows and layout of several sequences at a time; layouts are made once for all layers of a pass."""
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
    """Build banded matrices `[H, S, S + F − 1]`: row i holds the filter from column i on."""
    heads, taps = filter_HF.shape
    width = BLOCK + taps - 1
    bands = filter_HF.new_zeros(heads, BLOCK, width)
    bands.as_strided((heads, BLOCK, taps), (BLOCK * width, width + 1, 1)).copy_(filter_HF[:, None])
    return bands
