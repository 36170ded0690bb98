"""S4D: a diagonal state-space layer, run in both directions.

Source: Gu, Gupta, Goel, Ré 2022, "On the Parameterization and Initialization of Diagonal State Space Models", arXiv
2206.11893.

Letters: B sequences, L positions, D channels (the model width), S pairs (A, B), N complex states of a channel, Z = 2
real and imaginary part.
"""

import math
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, glu, pad, softplus

from lra.base.option_types import AtLeastTwo, Count, Effects, Positive, PositiveFraction, checked
from lra.mixers.long_convolution import convolve_both_ways, sums_of_powers
from lra.model.layers import make_dropout
from lra.model.mixer import MixerDims, SequenceMixer
from lra.types import UserError

Initial = Literal["lin", "inv", "legs"]
MOST_IMAGINARY = 2.0  # the imaginary parts of B of S4D-LegS are cut there, as in the authors' code


def initial_log_steps(shape: tuple[int, ...], *, step_least: float, step_most: float) -> Tensor:
    """Draw log Δ uniformly from a range.

    Raises:
        UserError: for an empty range.
    """
    if step_least > step_most:
        raise UserError(
            f"mixer.step_least={step_least:g} and mixer.step_most={step_most:g} are no range above 0;"
            " type for example mixer.step_least=0.001 mixer.step_most=0.1",
            kind="wrong_value",
            key="mixer.step_least",
            value=step_least,
            right=step_most,
        )
    low, high = math.log(step_least), math.log(step_most)
    return low + (high - low) * torch.rand(shape)


def initial_dynamics(init: Initial, states: int) -> tuple[Tensor, Tensor]:
    """Compute the initial imaginary parts of A, float64, and B, complex128, both `[states / 2]`: one of each pair.

    `lin` is S4D-Lin: πn. `inv` is S4D-Inv: (N/π) (N/(2n+1) - 1), with N the number of states. B is 1 in both. `legs` is
    S4D-LegS: eigenvalues and B of the normal part of HiPPO-LegS, A[n, k] = -√(2n+1) √(2k+1) / 2 for n > k, the negative
    of that for n < k, and -1/2 for n = k; B = √(2n+1) in the basis of its eigenvectors.
    """
    n = torch.arange(states // 2, dtype=torch.float64)
    if init != "legs":
        frequency_N = math.pi * n if init == "lin" else states / math.pi * (states / (2 * n + 1) - 1)
        return frequency_N, torch.ones_like(n, dtype=torch.complex128)
    root = torch.sqrt(2 * torch.arange(states, dtype=torch.float64) + 1)
    below = torch.outer(root, root).tril(-1) / 2
    values, vectors = torch.linalg.eigh(-1j * (below.T - below))  # in rising order
    b_N = (vectors.conj().T[: states // 2] @ root.to(vectors.dtype)).conj()
    return -values[: states // 2], torch.complex(b_N.real, b_N.imag.clamp(max=MOST_IMAGINARY, min=-MOST_IMAGINARY))


class S4D(SequenceMixer):
    """x' = A x + B u, y = Re(C x) + D u for each channel, A diagonal; then GELU, and a linear layer with a GLU.

    The outputs of both directions are summed. The directions share A, B and the step Δ, as in the authors' code, and
    each has its own C. Only one state of each conjugate pair is computed, and counts twice. The real part of A is
    -exp(parameter), so it stays negative. Initially C is standard complex Gaussian, D standard Gaussian, and log Δ
    uniform.

    Padded positions count as zeros, also between real tokens: positions keep their places, and a state decays while it
    passes them. The convolution is computed at least in float32, also in mixed precision.

    Args:
        states: N of the paper, even; half as many complex states are computed.
        init: `lin`, `inv` or `legs`, see `initial_dynamics`; the initial real part of A is -1/2 in all.
        copies: S, a divisor of D: the channels share S pairs (A, B) by turns; None: each has its own.
        discretisation: `zoh` (zero-order hold) or `bilinear`.
        step_least: smallest initial Δ.
        step_most: largest initial Δ.
        step_form: Δ is `exp` or `softplus` of its parameter.
        input: whether B is `fixed` at its initial value, because only its product with C matters, or `learned`.
        backward: whether the backward direction includes the present position (`with_present`), or begins after it
            (`after_present`), as in the authors' code.
        inner_dropout: whether the encoder's dropout is also before the GELU, on single numbers, and after it.

    Raises:
        UserError: for an odd number of states or none, an unknown choice, a number of copies that does not divide D, or
            an empty range of Δ.
    """

    effective_with: ClassVar[Effects] = {"inner_dropout": {"model.dropout": PositiveFraction}}
    ignores = ("num_heads", "head_dim")

    @checked
    def __init__(
        self,
        dims: MixerDims,
        *,
        states: AtLeastTwo,
        init: Initial,
        copies: Count | None,
        discretisation: Literal["zoh", "bilinear"],
        step_least: Positive,
        step_most: Positive,
        step_form: Literal["exp", "softplus"],
        input: Literal["fixed", "learned"],
        backward: Literal["with_present", "after_present"],
        inner_dropout: bool,
    ):
        super().__init__(dims)
        if states % 2:
            raise UserError(f"mixer.states={states} is not an even number of at least 2; type for example 64")
        width, pairs = dims.width, states // 2
        if width % (copies or width):
            raise UserError(f"mixer.copies={copies} does not divide the width {width}; type for example mixer.copies=1")
        copies = copies or width
        self.discretisation, self.step_form = discretisation, step_form
        self.skips_present = backward == "after_present"
        log_step_D = initial_log_steps((width,), step_least=step_least, step_most=step_most)
        self.log_step_D = nn.Parameter(log_step_D if step_form == "exp" else log_step_D.exp().expm1().log())
        self.log_decay_DN = nn.Parameter(torch.full((copies, pairs), math.log(0.5)))
        frequency_N, b_N = initial_dynamics(init, states)
        self.frequency_DN = nn.Parameter(frequency_N.float().repeat(copies, 1))
        b_DNZ = torch.view_as_real(b_N).float().repeat(copies, 1, 1)
        self.b_DNZ: Tensor | None
        if input == "learned":
            self.b_DNZ = nn.Parameter(b_DNZ)
        else:
            self.register_buffer("b_DNZ", b_DNZ if init == "legs" else None)
        self.c_2DNZ = nn.Parameter(torch.randn(2, width, pairs, 2) * 0.5**0.5)
        self.skip_D = nn.Parameter(torch.randn(width))
        self.out = nn.Linear(width, 2 * width)
        rate = dims.dropout if inner_dropout else 0.0
        self.dropout_before, self.dropout_after = nn.Dropout(rate), make_dropout(rate, tied=dims.tied_dropout)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix along each sequence; `[B, L, D]` to `[B, L, D]`."""
        u_BLD = x_BLD if valid_BL is None else x_BLD.masked_fill(~valid_BL[..., None], 0)
        with torch.autocast(x_BLD.device.type, enabled=False):
            u_BLD = u_BLD.to(torch.promote_types(u_BLD.dtype, torch.float32))
            ahead_DL, back_DL = self.filters(u_BLD.shape[1])
            if self.skips_present:
                back_DL = pad(back_DL, (1, 0))[:, :-1]
            y_BLD = convolve_both_ways(u_BLD, ahead_DL, back_DL) + self.skip_D * u_BLD
        mixed_BLD = self.dropout_after(gelu(self.dropout_before(y_BLD)))
        return glu(self.out(mixed_BLD.to(x_BLD.dtype)))

    def filters(self, length: int) -> Tensor:
        """Compute the impulse responses of both directions, `[2, D, L]`."""
        log_ratio_DN, input_DN = self.discretised()
        return 2 * sums_of_powers(torch.view_as_complex(self.c_2DNZ) * input_DN, log_ratio_DN, length)

    def discretised(self) -> tuple[Tensor, Tensor]:
        """Compute log Ā and B̄, complex `[D, N]`, of the discrete recurrence x_t = Ā x_{t-1} + B̄ u_t."""
        turns = len(self.log_step_D) // len(self.log_decay_DN)
        a_DN = torch.complex(-self.log_decay_DN.exp(), self.frequency_DN).repeat(turns, 1)
        step_D1 = (self.log_step_D.exp() if self.step_form == "exp" else softplus(self.log_step_D))[:, None]
        if self.discretisation == "zoh":
            log_ratio_DN = step_D1 * a_DN
            input_DN = torch.expm1(log_ratio_DN) / a_DN
        else:
            half_DN = step_D1 * a_DN / 2
            log_ratio_DN = torch.log((1 + half_DN) / (1 - half_DN))
            input_DN = step_D1 / (1 - half_DN)
        if self.b_DNZ is not None:
            input_DN = input_DN * torch.view_as_complex(self.b_DNZ).repeat(turns, 1)
        return log_ratio_DN, input_DN
