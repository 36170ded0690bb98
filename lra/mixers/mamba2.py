"""Mamba-2: a state-space layer whose step, input and output depend on the token, run in both directions.

Source: Dao, Gu 2024, "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space
Duality", arXiv 2405.21060: the algorithm of section 6, the layer of section 7.

Letters: W = 2 directions, B sequences (in `scan` of both), L positions, D model width, I inner channels, H heads, P
channels of a head, N states, C = I + 2·N channels of the convolution, K chunks, Q and S positions of a chunk.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, silu, softplus

from lra.base.option_types import Count, Positive, checked
from lra.mixers.s4d import initial_log_steps
from lra.model.mixer import MixerDims, SequenceMixer
from lra.ops.transforms import known_length
from lra.types import UserError

CHUNK = 64  # Q; the result depends on it by rounding alone
LEAST_RATE, MOST_RATE = 1.0, 16.0  # initial rates of decay, and what the norm adds, as in the authors' code
NORM_EPS = 1e-5


def scan(x_BLHP: Tensor, log_decay_BLH: Tensor, b_BLN: Tensor, c_BLN: Tensor) -> Tensor:
    """Compute y_t = h_tᵀ c_t with h_t = exp(log_decay_t) h_{t-1} + b_t x_tᵀ from h = 0; `[B, L, H, P]`.

    Products of matrices, within chunks and between their last states. All products of decays are exponentials of sums
    of logarithms, which are at most 0, so nothing overflows.
    """
    x_BKHQP = _chunks(x_BLHP).transpose(2, 3)
    b_BKQN, c_BKQN = _chunks(b_BLN), _chunks(c_BLN)
    log_decay_BKHQ = _chunks(log_decay_BLH).transpose(2, 3)
    y_BKHQP = ((c_BKQN @ b_BKQN.mT)[:, :, None] * _decays(log_decay_BKHQ)) @ x_BKHQP

    since_BKHQ1 = log_decay_BKHQ.cumsum(3)[..., None]
    whole_BKH1 = since_BKHQ1[..., -1, :]
    added_BKHNP = b_BKQN.mT[:, :, None] @ ((whole_BKH1[..., None] - since_BKHQ1).exp() * x_BKHQP)
    decay_BHKK = _decays(whole_BKH1.permute(0, 2, 3, 1)).squeeze(2)
    after_BHKNP = (decay_BHKK @ added_BKHNP.transpose(1, 2).flatten(3)).unflatten(3, added_BKHNP.shape[-2:])
    before_BKHNP = pad(after_BHKNP, (0, 0, 0, 0, 1, -1)).transpose(1, 2)
    y_BKHQP = y_BKHQP + since_BKHQ1.exp() * (c_BKQN[:, :, None] @ before_BKHNP)
    return y_BKHQP.transpose(2, 3).flatten(1, 2)[:, : x_BLHP.shape[1]]


def _decays(log_decay_Q: Tensor) -> Tensor:
    """The decay from position S to Q, `[…, Q, S]`; 0 to earlier ones. Sums have no differences, which would round."""
    size = log_decay_Q.shape[-1]
    log_decay_QS = log_decay_Q[..., None].expand(*log_decay_Q.shape, size)
    summed_QS = log_decay_QS.tril(-1).cumsum(-2)
    later_QS = torch.ones_like(summed_QS[(0,) * (summed_QS.ndim - 2)], dtype=torch.bool).triu(1)
    return summed_QS.masked_fill(later_QS, -torch.inf).exp()


def _chunks(x_BL: Tensor) -> Tensor:
    """Cut `[B, L, …]` into chunks, `[B, K, Q, …]`, the last one filled with zeros."""
    missing = -known_length(x_BL.shape[1]) % CHUNK
    x_BKQ: Tensor = pad(x_BL, (0, 0) * (x_BL.ndim - 2) + (0, missing)).unflatten(1, (-1, CHUNK))
    return x_BKQ


def _both_ways(x_BL: Tensor) -> Tensor:
    """Stack `[B, L, …]` as it is and in reverse; `[W, B, L, …]`."""
    return torch.stack([x_BL, x_BL.flip(1)])


class Mamba2(SequenceMixer):
    """h_t = exp(-Δ_t a) h_{t-1} + Δ_t b_t x_tᵀ and y_t = h_tᵀ c_t + d x_t for each head, then a gate and a norm.

    x, b and c are SiLUs of a short convolution of projected tokens, Δ = softplus(projection + bias); b and c are the
    same for all heads. The output is W_o RMSNorm(y ⊙ silu(W_z u)). There is no dropout in the mixer.

    The two directions y are summed before the gate. They share the projections and the norm; each has its own
    convolution, a, d and bias of Δ. Both include the present position.

    Padded positions count as zeros in the convolution, and states do not change there (Δ = 0). The states are computed
    at least in float32, also in mixed precision.

    Args:
        states: N.
        expand: I / D. The inner channels are divided among the encoder's heads.
        taps: length of the convolution.
        step_least: smallest initial Δ of a token whose projection is 0.
        step_most: largest initial Δ of such a token; it is log-uniform over the heads.

    Raises:
        UserError: if the heads do not divide I, or for an empty range of Δ.
    """

    ignores = ("head_dim",)  # I / H channels, whatever attention has

    @checked
    def __init__(
        self, dims: MixerDims, *, states: Count, expand: Count, taps: Count, step_least: Positive, step_most: Positive
    ):
        super().__init__(dims)
        inner, heads = expand * dims.width, dims.num_heads
        if inner % heads:
            raise UserError(
                f"mixer.expand={expand} makes {inner} channels, which {heads} heads do not divide;"
                f" type for example mixer.expand={heads}",
                kind="wrong_value",
                key="mixer.expand",
                value=expand,
                right=heads,
            )
        self.parts = [inner, inner + 2 * states, heads]  # gate; x, b and c; Δ
        self.inner_parts = [inner, states, states]
        self.project = nn.Linear(dims.width, sum(self.parts), bias=False)
        bound = taps**-0.5  # as `nn.Conv1d` begins
        self.filter_WTC = nn.Parameter(torch.empty(2, taps, self.parts[1]).uniform_(-bound, bound))
        self.filter_bias_WC = nn.Parameter(torch.empty(2, self.parts[1]).uniform_(-bound, bound))
        self.log_rate_WH = nn.Parameter(torch.empty(2, heads).uniform_(LEAST_RATE, MOST_RATE).log())
        step_WH = initial_log_steps((2, heads), step_least=step_least, step_most=step_most).exp()
        self.step_bias_WH = nn.Parameter(step_WH.expm1().log())  # the inverse of softplus
        self.skip_WH = nn.Parameter(torch.ones(2, heads))
        self.norm = nn.RMSNorm(inner, eps=NORM_EPS)
        self.out = nn.Linear(inner, dims.width, bias=False)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix along each sequence; `[B, L, D]` to `[B, L, D]`."""
        u_BLD = x_BLD if valid_BL is None else x_BLD.masked_fill(~valid_BL[..., None], 0)
        gate_BLI, mixed_BLC, raw_BLH = self.project(u_BLD).split(self.parts, dim=-1)
        x_WBLI, b_WBLN, c_WBLN = silu(self.convolve(_both_ways(mixed_BLC))).split(self.inner_parts, dim=-1)
        with torch.autocast(x_BLD.device.type, enabled=False):
            wide = torch.promote_types(x_BLD.dtype, torch.float32)
            step_WBLH = softplus(_both_ways(raw_BLH).to(wide) + self.step_bias_WH[:, None, None])
            if valid_BL is not None:
                step_WBLH = step_WBLH.masked_fill(~_both_ways(valid_BL)[..., None], 0)
            x_WBLHP = x_WBLI.to(wide).unflatten(-1, (self.parts[2], -1))
            log_decay_WBLH = -self.log_rate_WH.exp()[:, None, None] * step_WBLH
            inputs = (step_WBLH[..., None] * x_WBLHP, log_decay_WBLH, b_WBLN.to(wide), c_WBLN.to(wide))
            y_WBLHP = scan(*(each.flatten(0, 1) for each in inputs)).view_as(x_WBLHP)
            ahead_BLI, back_BLI = (y_WBLHP + self.skip_WH[:, None, None, :, None] * x_WBLHP).flatten(3).unbind()
        y_BLI = (ahead_BLI + back_BLI.flip(1)).to(x_BLD.dtype) * silu(gate_BLI)
        out_BLD: Tensor = self.out(self.norm(y_BLI))
        return out_BLD

    def convolve(self, mixed_WBLC: Tensor) -> Tensor:
        """Convolve each channel of each direction with its filter, which ends at the present position."""
        taps, length = self.filter_WTC.shape[1], mixed_WBLC.shape[2]
        padded_WBLC = pad(mixed_WBLC, (0, 0, taps - 1, 0))
        convolved_WBLC = self.filter_bias_WC[:, None, None].to(mixed_WBLC.dtype)
        for tap, filter_WC in enumerate(self.filter_WTC.unbind(1)):
            convolved_WBLC = torch.addcmul(
                convolved_WBLC, padded_WBLC[:, :, tap : tap + length], filter_WC[:, None, None].to(mixed_WBLC.dtype)
            )
        return convolved_WBLC
