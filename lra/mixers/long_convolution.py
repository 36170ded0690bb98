"""Convolutions as long as the sequence, with filters of state-space layers and moving averages (sums of powers).

Source: Gu et al. 2022 (arXiv 2206.11893), section 3.2: the filter of a diagonal recurrence is a product with a
Vandermonde matrix, and the convolution is computed by Fourier transforms.

Letters: B sequences, L positions, D channels, N states of a channel, R rows and C columns of a filter that is arranged
as a matrix.
"""

import math
from functools import partial

import torch
from torch import Tensor

from lra.ops.transforms import known_length


def sums_of_powers(weight_DN: Tensor, log_ratio_DN: Tensor, length: int) -> Tensor:
    """Compute the real parts of Σ_n weight · ratio^l for l = 0, 1 … `length` - 1; `[…, D, L]`.

    With l = C · row + column, ratio^l is a product of two powers. So about √L powers for rows and √L for columns are
    computed instead of L powers, and one matrix product combines them. Weights and logarithms of ratios, `[…, D, N]`,
    are real or complex; the real parts of the latter are at most 0.
    """
    columns = math.isqrt(known_length(length) - 1) + 1
    count_to = partial(torch.arange, device=log_ratio_DN.device, dtype=log_ratio_DN.real.dtype)
    row_R, column_C = count_to(-(-length // columns)), count_to(columns)
    rows_DRN = weight_DN[..., None, :] * (columns * row_R[:, None] * log_ratio_DN[..., None, :]).exp()
    columns_DNC = (log_ratio_DN[..., None] * column_C).exp()
    if rows_DRN.is_complex():  # only the real part is needed, and a real product has half the work of a complex one
        rows_DRN = torch.cat([rows_DRN.real, -rows_DRN.imag], dim=-1)
        columns_DNC = torch.cat([columns_DNC.real, columns_DNC.imag], dim=-2)
    return (rows_DRN @ columns_DNC).flatten(-2)[..., :length]


def convolve_both_ways(x_BLD: Tensor, ahead_DL: Tensor, back_DL: Tensor) -> Tensor:
    """Compute y_t = Σ_{s ≤ t} ahead_{t-s} x_s + Σ_{s ≥ t} back_{s-t} x_s for each channel; `[B, L, D]`.

    Position t is in both sums. The convolution is not circular.
    """
    length = x_BLD.shape[1]
    # The transform of a reversed filter is the complex conjugate of the filter's transform.
    filters_DF = torch.fft.rfft(ahead_DL, n=2 * length) + torch.fft.rfft(back_DL, n=2 * length).conj()
    x_BDF = torch.fft.rfft(x_BLD.transpose(1, 2), n=2 * length)
    y_BDL = torch.fft.irfft(x_BDF * filters_DF, n=2 * length)[..., :length]
    y_BLD: Tensor = y_BDL.transpose(1, 2)
    return y_BLD
