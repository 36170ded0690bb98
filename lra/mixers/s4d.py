"""S4D: a diagonal state-space layer, run in both directions.

Source: Gu, Gupta, Goel, Ré 2022, "On the Parameterization and Initialization of Diagonal State Space Models", arXiv
2206.11893.

Letters: B sequences, L positions, D channels (the model width), N complex states of a channel, Z = 2 real and imaginary
part.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, glu

from lra.base.arguments import AtLeastTwo, Positive, checked
from lra.mixers.long_convolution import convolve_both_ways, sums_of_powers
from lra.model.mixer import MixerDims, SequenceMixer
from lra.types import UserError

Initial = Literal["lin", "inv"]


def initial_frequencies(init: Initial, states: int) -> Tensor:
    """Compute the initial imaginary parts of A, `[states / 2]` float64, one for each conjugate pair.

    `lin` is S4D-Lin: πn. `inv` is S4D-Inv: (N/π) (N/(2n+1) - 1), with N the number of states.
    """
    n = torch.arange(states // 2, dtype=torch.float64)
    return math.pi * n if init == "lin" else states / math.pi * (states / (2 * n + 1) - 1)


class S4D(SequenceMixer):
    """x' = A x + B u, y = Re(C x) + D u for each channel, A diagonal; then GELU, and a linear layer with a GLU.

    The outputs of both directions are summed. The directions share A, B and the step Δ, as in the authors' code, and
    each has its own C. Both include the present position, which the backward one leaves out in S4's code. Only one
    state of each conjugate pair is computed, and counts twice. The real part of A is -exp(parameter), so it stays
    negative. Initially C is standard complex Gaussian, D standard Gaussian, log Δ uniform, and B is 1. There is no
    dropout in the mixer.

    Padded positions count as zeros, also between real tokens: positions keep their places, and a state decays while it
    passes them. The convolution is computed at least in float32, also in mixed precision.

    Args:
        states: N of the paper, even; half as many complex states are computed.
        init: `lin` or `inv`, see `initial_frequencies`; the initial real part of A is -1/2 in both.
        discretisation: `zoh` (zero-order hold) or `bilinear`.
        step_least: smallest initial Δ.
        step_most: largest initial Δ.
        input: whether B is `fixed` at 1, because only its product with C matters, or `learned`.

    Raises:
        UserError: for an odd number of states or none, an unknown choice, or an empty range of Δ.
    """

    @checked
    def __init__(
        self,
        dims: MixerDims,
        *,
        states: AtLeastTwo,
        init: Initial,
        discretisation: Literal["zoh", "bilinear"],
        step_least: Positive,
        step_most: Positive,
        input: Literal["fixed", "learned"],
    ):
        super().__init__(dims)
        if states % 2:
            raise UserError(f"mixer.states={states} is not an even number of at least 2; type for example 64")
        if step_least > step_most:
            raise UserError(
                f"mixer.step_least={step_least:g} and mixer.step_most={step_most:g} are no range above 0;"
                " type for example mixer.step_least=0.001 mixer.step_most=0.1"
            )
        width, pairs = dims.width, states // 2
        self.discretisation = discretisation
        low, high = math.log(step_least), math.log(step_most)
        self.log_step_D = nn.Parameter(low + (high - low) * torch.rand(width))
        self.log_decay_DN = nn.Parameter(torch.full((width, pairs), math.log(0.5)))
        self.frequency_DN = nn.Parameter(initial_frequencies(init, states).float().repeat(width, 1))
        one_DNZ = torch.tensor([1.0, 0.0]).repeat(width, pairs, 1)
        self.b_DNZ = nn.Parameter(one_DNZ) if input == "learned" else None
        self.c_2DNZ = nn.Parameter(torch.randn(2, width, pairs, 2) * 0.5**0.5)
        self.skip_D = nn.Parameter(torch.randn(width))
        self.out = nn.Linear(width, 2 * width)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix along each sequence; `[B, L, D]` to `[B, L, D]`."""
        u_BLD = x_BLD if valid_BL is None else x_BLD.masked_fill(~valid_BL[..., None], 0)
        with torch.autocast(x_BLD.device.type, enabled=False):
            u_BLD = u_BLD.to(torch.promote_types(u_BLD.dtype, torch.float32))
            ahead_DL, back_DL = self.filters(u_BLD.shape[1])
            y_BLD = convolve_both_ways(u_BLD, ahead_DL, back_DL) + self.skip_D * u_BLD
        return glu(self.out(gelu(y_BLD).to(x_BLD.dtype)))

    def filters(self, length: int) -> Tensor:
        """Compute the impulse responses of both directions, `[2, D, L]`."""
        log_ratio_DN, input_DN = self.discretised()
        return 2 * sums_of_powers(torch.view_as_complex(self.c_2DNZ) * input_DN, log_ratio_DN, length)

    def discretised(self) -> tuple[Tensor, Tensor]:
        """Compute log Ā and B̄, complex `[D, N]`, of the discrete recurrence x_t = Ā x_{t-1} + B̄ u_t."""
        a_DN = torch.complex(-self.log_decay_DN.exp(), self.frequency_DN)
        step_D1 = self.log_step_D.exp()[:, None]
        if self.discretisation == "zoh":
            log_ratio_DN = step_D1 * a_DN
            input_DN = torch.expm1(log_ratio_DN) / a_DN
        else:
            half_DN = step_D1 * a_DN / 2
            log_ratio_DN = torch.log((1 + half_DN) / (1 - half_DN))
            input_DN = step_D1 / (1 - half_DN)
        if self.b_DNZ is not None:
            input_DN = input_DN * torch.view_as_complex(self.b_DNZ)
        return log_ratio_DN, input_DN
