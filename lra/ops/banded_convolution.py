"""Depthwise convolution along sequences as products with banded matrices, which are faster than a grouped conv2d.

A sequence is cut into blocks. A block of outputs is the product of a small banded matrix, which holds the filter, and
the block's window of inputs.

Letters: B examples, H heads, L positions, E dims per head, F taps (odd), S outputs per block, N blocks, W = S + F − 1
inputs of a block's window.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from lra.ops.transforms import known_length

BLOCK = 32  # S: small blocks multiply fewer zeros, large blocks have faster products


def convolve(x_BHLE: Tensor, filter_HF: Tensor) -> Tensor:
    """Correlate each head's values `[B, H, L, E]` with its filter; torch has the gradients.

    out[l] = Σ_f filter[f] · x[l + f − (F − 1) / 2], where x is 0 beyond the ends. The gradient of the
    filter is one product for each head. torch's convolution sums each tap's products one after the other.
    """
    length, halo = known_length(x_BHLE.shape[2]), filter_HF.shape[1] // 2
    row = pad(x_BHLE, (0, 0, halo, halo + -length % BLOCK))
    windows_BHNEW = row.unfold(2, BLOCK + 2 * halo, BLOCK)
    out_BHNSE = torch.einsum("bhnew,hsw->bhnse", windows_BHNEW, bands(filter_HF))
    return out_BHNSE.flatten(2, 3)[:, :, :length]


def bands(filter_HF: Tensor) -> Tensor:
    """Build banded matrices `[H, S, S + F − 1]`: row i holds the filter from column i on."""
    width = BLOCK + filter_HF.shape[1] - 1
    bands_HSW: Tensor = pad(filter_HF, (0, BLOCK)).repeat(1, BLOCK)[:, : BLOCK * width].unflatten(1, (BLOCK, width))
    return bands_HSW
