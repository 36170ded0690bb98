"""The encoder of sequences in `torch.func` and `torch.jit.trace`: the same numbers as by itself."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call, grad, vmap

import lra

LENGTHS = torch.tensor([3, 12, 7])
MASK = torch.arange(12) < LENGTHS[:, None]


@pytest.fixture(params=["nystrom", "full", "performer", "s4d"])
def encoder(request):
    key = "mixer" if request.param == "s4d" else "attention"
    mixers = lra.build_mixers(lra.compose(f"{key}={request.param}", "protocol=clean"))
    sizes = {"embed_dim": 6, "hidden_size": 16, "num_layers": 2, "num_heads": 2, "window_size": 12}
    return lra.SequenceEncoder.build(make_mixers=mixers, **sizes).eval().double()


def test_gradients_per_sequence(encoder):
    x = torch.randn(3, 12, 6, dtype=torch.float64)
    weights = {name: weight.detach() for name, weight in encoder.named_parameters()}

    def loss(weights, x_LI, mask_L):
        return functional_call(encoder, weights, (x_LI[None], mask_L[None])).square().sum()

    together = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, MASK)
    for i in range(3):
        encoder.zero_grad()
        encoder(x[i : i + 1], MASK[i : i + 1]).square().sum().backward()
        for name, weight in encoder.named_parameters():
            torch.testing.assert_close(together[name][i], weight.grad, msg=name)


def test_vmap_over_sequences_and_lengths(encoder):
    x = torch.randn(3, 12, 6, dtype=torch.float64)
    one_by_one = vmap(lambda x_LI, length: encoder(x_LI[None], lengths=length[None])[0])(x, LENGTHS)
    torch.testing.assert_close(one_by_one, encoder(x, lengths=LENGTHS))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_trace_takes_other_values(encoder):
    x, y = torch.randn(2, 3, 12, 6, dtype=torch.float64)
    traced = torch.jit.trace(encoder, (x, MASK), check_trace=False)
    torch.testing.assert_close(traced(y, ~MASK), encoder(y, ~MASK))
