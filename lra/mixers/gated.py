"""A gated unit around a moving average: Mega without its attention.

Source: Ma et al. 2022, "Mega: Moving Average Equipped Gated Attention", arXiv 2209.10655: the multi-dimensional damped
exponential moving average of section 3.1, and the candidate and the update gate of section 3.2.

Letters: B sequences, L positions, D channels (the model width), N averages of a channel, 2 directions.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from lra.base.option_types import Count, checked
from lra.mixers.long_convolution import convolve_both_ways, sums_of_powers
from lra.model.mixer import MixerDims, SequenceMixer


class GatedMovingAverage(SequenceMixer):
    """Y = φ ⊙ Ĥ + (1 - φ) ⊙ X with Ĥ = silu(X' W_h + b_h), φ = sigmoid(X' W_φ + b_φ) and X' = EMA(X).

    Each channel has N averages in each direction: h_t = α ⊙ β x_t + (1 - α ⊙ δ) ⊙ h_{t-1} and X'_t = Σ_n η h_t / √N,
    with α and δ in (0, 1). The averages of the two directions are summed; they share no parameters. Both include the
    present position.

    The average, the candidate and the update gate are the paper's; initial values and the factor 1 / √N are from its
    code. Left out are the attention with its reset gate, and the skip connection and the SiLU of the average, which
    only the code has. X is the block's input after its LayerNorm. There is no dropout in the mixer.

    Padded positions count as zeros, also between real tokens: positions keep their places, and an average decays while
    it passes them. The convolution is computed at least in float32, also in mixed precision.

    Args:
        averages: N.
    """

    ignores = ("num_heads", "head_dim")

    @checked
    def __init__(self, dims: MixerDims, *, averages: Count):
        super().__init__(dims)
        shape = (2, dims.width, averages)
        signs_N = 1.0 - 2.0 * (torch.arange(averages) % 2)
        self.alpha_2DN = nn.Parameter(0.2 * torch.randn(shape))
        self.delta_2DN = nn.Parameter(0.2 * torch.randn(shape))
        self.beta_2DN = nn.Parameter(signs_N + 0.02 * torch.randn(shape))
        self.eta_2DN = nn.Parameter(torch.randn(shape))
        self.candidate = nn.Linear(dims.width, dims.width)
        self.update = nn.Linear(dims.width, dims.width)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix along each sequence; `[B, L, D]` to `[B, L, D]`."""
        averaged_BLD = self.average(x_BLD if valid_BL is None else x_BLD.masked_fill(~valid_BL[..., None], 0))
        candidate_BLD, update_BLD = silu(self.candidate(averaged_BLD)), self.update(averaged_BLD).sigmoid()
        out_BLD: Tensor = update_BLD * candidate_BLD + (1 - update_BLD) * x_BLD
        return out_BLD

    def average(self, x_BLD: Tensor) -> Tensor:
        """Compute the sum of the damped moving averages of both directions."""
        with torch.autocast(x_BLD.device.type, enabled=False):
            wide_BLD = x_BLD.to(torch.promote_types(x_BLD.dtype, torch.float32))
            averaged_BLD = convolve_both_ways(wide_BLD, *self.filters(x_BLD.shape[1]))
        return averaged_BLD.to(x_BLD.dtype)

    def filters(self, length: int) -> Tensor:
        """Compute the impulse responses of both directions, `[2, D, L]`."""
        alpha_2DN, delta_2DN = self.alpha_2DN.sigmoid(), self.delta_2DN.sigmoid()
        weight_2DN = self.eta_2DN * alpha_2DN * self.beta_2DN * alpha_2DN.shape[2] ** -0.5
        return sums_of_powers(weight_2DN, torch.log1p(-alpha_2DN * delta_2DN), length)
