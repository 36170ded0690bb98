"""Slow twins of the sequence mixers: recurrences, one position after the other, as the papers write them.

Letters: B sequences, L positions, D channels, N states of a channel.
"""

from typing import Any

import torch
from torch import Tensor, nn

from tests.reference import twin


def recurrence(u_BLD: Tensor, ratio_DN: Tensor, input_DN: Tensor, output_DN: Tensor) -> Tensor:
    """h_t = ratio · h_{t-1} + input · u_t, from h = 0; Σ_n output · h_t at every position."""
    state_BDN = torch.zeros(len(u_BLD), *ratio_DN.shape, dtype=ratio_DN.dtype)
    outputs = []
    for u_BD in u_BLD.unbind(1):
        state_BDN = ratio_DN * state_BDN + input_DN * u_BD[..., None]
        outputs.append((output_DN * state_BDN).sum(-1))
    return torch.stack(outputs, 1)


def without_padding(x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
    """Zeros at padded positions, holes too; the positions of real tokens stay."""
    return x_BLD if valid_BL is None else x_BLD * valid_BL[..., None]


def s4d(x: Tensor, valid: Tensor | None, *, discretisation: str, step_form: str, backward: str, **state: Any) -> Tensor:
    """Gu, Gupta, Goel, Ré 2022 (arXiv 2206.11893): discretised, then stepped both ways."""
    u = without_padding(x, valid)
    a = torch.complex(-state["log_decay_DN"].exp(), state["frequency_DN"])
    b = torch.view_as_complex(state["b_DNZ"]) if "b_DNZ" in state else torch.ones_like(a)
    parameter = state["log_step_D"][:, None]
    step = parameter.exp() if step_form == "exp" else (1 + parameter.exp()).log()
    a, b = (pairs.repeat(len(step) // len(a), 1) for pairs in (a, b))
    if discretisation == "zoh":
        ratio = (step * a).exp()
        inputs = (ratio - 1) / (step * a) * step * b
    else:
        ratio = (1 + step * a / 2) / (1 - step * a / 2)
        inputs = step * b / (1 - step * a / 2)
    c_ahead, c_back = torch.view_as_complex(state["c_2DNZ"]).unbind(0)
    ahead = 2 * recurrence(u, ratio, inputs, c_ahead).real
    back = 2 * recurrence(u.flip(1), ratio, inputs, c_back).real.flip(1)
    if backward == "after_present":
        back = torch.cat([back[:, 1:], torch.zeros_like(back[:, :1])], 1)
    y = nn.functional.gelu(ahead + back + state["skip_D"] * u)
    left, right = (y @ state["out.weight"].T + state["out.bias"]).chunk(2, dim=-1)
    return left * right.sigmoid()


def gated(x: Tensor, valid: Tensor | None, **state: Any) -> Tensor:
    """Ma et al. 2022 (arXiv 2209.10655): the damped EMA (section 3.1), both ways; the update gate (section 3.2)."""
    u = without_padding(x, valid)
    averages = []
    for way in (0, 1):
        alpha, delta = state["alpha_2DN"][way].sigmoid(), state["delta_2DN"][way].sigmoid()
        turned = u.flip(1) if way else u
        eta = state["eta_2DN"][way] / alpha.shape[1] ** 0.5
        out = recurrence(turned, 1 - alpha * delta, alpha * state["beta_2DN"][way], eta)
        averages.append(out.flip(1) if way else out)
    averaged = averages[0] + averages[1]
    update = (averaged @ state["update.weight"].T + state["update.bias"]).sigmoid()
    candidate = nn.functional.silu(averaged @ state["candidate.weight"].T + state["candidate.bias"])
    return update * candidate + (1 - update) * x


def attention(x: Tensor, valid: Tensor | None, *, backend: str, heads: int, **state: Any) -> Tensor:
    """Projections around the slow twin of the attention of that name."""
    of_backend = {key.removeprefix("backend."): value for key, value in state.items() if key.startswith("backend.")}
    knobs = {key: value for key, value in state.items() if "." not in key}
    qkv = x @ state["qkv.weight"].T + state["qkv.bias"]
    q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in qkv.chunk(3, dim=-1))
    mixed = twin(backend)(q, k, v, valid, **knobs, **of_backend)
    return mixed.transpose(1, 2).flatten(2) @ state["out.weight"].T + state["out.bias"]


def mamba2(x: Tensor, valid: Tensor | None, *, states: int, taps: int, **state: Any) -> Tensor:
    """Dao, Gu 2024 (arXiv 2405.21060): section 7's layer as a recurrence, both ways, summed before the gate."""
    inner, heads = state["out.weight"].shape[1], state["log_rate_WH"].shape[1]
    gate, mixed, raw = (without_padding(x, valid) @ state["project.weight"].T).split(
        [inner, inner + 2 * states, heads], dim=-1
    )
    real = torch.ones_like(x[..., 0]) if valid is None else valid.to(x.dtype)
    summed = torch.zeros_like(gate)
    for way in (0, 1):
        turned, raw_turned, real_turned = ((each.flip(1) if way else each) for each in (mixed, raw, real))
        step = (1 + (raw_turned + state["step_bias_WH"][way]).exp()).log() * real_turned[..., None]
        h = torch.zeros(len(x), heads, states, inner // heads, dtype=x.dtype)
        outputs = []
        for t in range(x.shape[1]):
            convolved = state["filter_bias_WC"][way]
            for back in range(min(taps, t + 1)):
                convolved = convolved + state["filter_WTC"][way, taps - 1 - back] * turned[:, t - back]
            x_t, b, c = nn.functional.silu(convolved).split([inner, states, states], dim=-1)
            x_t = x_t.unflatten(1, (heads, -1))
            decay = (-state["log_rate_WH"][way].exp() * step[:, t]).exp()
            added = step[:, t, :, None, None] * b[:, None, :, None] * x_t[:, :, None]
            h = decay[..., None, None] * h + added
            y = (h * c[:, None, :, None]).sum(2) + state["skip_WH"][way][:, None] * x_t
            outputs.append(y.flatten(1))
        outputs = torch.stack(outputs, 1)
        summed = summed + (outputs.flip(1) if way else outputs)
    gated = summed * nn.functional.silu(gate)
    normed = gated / (gated.square().mean(-1, keepdim=True) + 1e-5).sqrt() * state["norm.weight"]
    return normed @ state["out.weight"].T
