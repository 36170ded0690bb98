"""Mamba-2: its initial numbers, its count of parameters, its refusals, its scan by another formula and in float32."""

import math

import pytest
import torch

from lra import from_config
from lra.mixers.mamba2 import scan
from lra.model.classifier import count_parameters
from lra.model.mixer import MixerDims
from lra.settings.compose import load_config
from lra.types import UserError

DIMS = MixerDims(width=64, num_heads=2, head_dim=32, max_seq_len=2048, dropout=0.1)


def mamba2(*words: str, dims: MixerDims = DIMS):
    torch.manual_seed(0)
    return next(from_config.build_mixers(load_config("train", ["mixer=mamba2", *words]))(dims, 1))


def drawn(*shape: int):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("expand, states", [(1, 64), (2, 128)])
def test_the_parameters_are_as_many_as_the_formula_says(expand, states):
    width, heads, taps, inner = 64, 2, 4, 64 * expand
    channels = inner + 2 * states
    one_way = channels * (taps + 1) + 3 * heads  # convolution; rate, skip connection and bias of the step
    shared = width * (inner + channels + heads) + inner + inner * width
    made = mamba2(f"mixer.expand={expand}", f"mixer.states={states}")
    assert count_parameters(made) == shared + 2 * one_way
    if expand == 2:
        assert shared + one_way == 43_142, "as the layer of flash-linear-attention with these sizes"


def test_the_initial_numbers_are_the_authors():
    many = MixerDims(width=4000, num_heads=4000, head_dim=1, max_seq_len=8, dropout=0.0)
    made = mamba2("mixer.states=1", "mixer.step_least=0.01", dims=many)
    rate, step = made.log_rate_WH.exp(), torch.nn.functional.softplus(made.step_bias_WH)
    assert 1 <= rate.min() < 1.01
    assert 15.99 < rate.max() <= 16
    assert rate.mean().item() == pytest.approx(8.5, abs=0.2)
    assert 0.01 <= step.min() + 1e-6 < 0.0101
    assert 0.0995 < step.max() <= 0.1 + 1e-6
    assert step.log().mean().item() == pytest.approx(math.log(0.001) / 2, abs=0.05)
    assert made.skip_WH.unique().tolist() == made.norm.weight.unique().tolist() == [1]
    assert 0.49 < made.filter_WTC.abs().max() <= 0.5


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_the_scan_is_the_masked_product_of_the_papers_dual_form(length):
    """Y = (L ⊙ C Bᵀ) X, where L has the products of the decays between two positions."""
    x, b, c = drawn(2, length, 3, 5), drawn(2, length, 4), drawn(2, length, 4)
    decay = torch.rand(2, length, 3, dtype=torch.float64)
    expected = torch.zeros_like(x)
    for row in range(length):
        between = torch.ones(2, 3, dtype=torch.float64)
        for column in range(row, -1, -1):
            weight = between * (c[:, row] * b[:, column]).sum(-1, keepdim=True)
            expected[:, row] += weight[..., None] * x[:, column]
            between = between * decay[:, column]
    torch.testing.assert_close(scan(x, decay.log(), b, c), expected, rtol=1e-10, atol=1e-10)


def test_a_state_stands_still_at_padding():
    """With a convolution of one position, a sequence with holes is the one without them."""
    made, x, valid = mamba2("mixer.taps=1").double(), drawn(1, 150, 64), torch.rand(1, 150) < 0.5
    with torch.no_grad():
        torch.testing.assert_close(made(x, valid)[valid], made(x[valid][None], None)[0], rtol=1e-9, atol=1e-10)


def test_each_direction_sees_its_own_side_and_the_two_are_mirrored():
    made, x = mamba2().double(), drawn(1, 100, 64).requires_grad_()
    per_way = (made.filter_WTC, made.filter_bias_WC, made.log_rate_WH, made.step_bias_WH, made.skip_WH)
    with torch.no_grad():
        both = made(x, None)
        for parameter in per_way:
            parameter.copy_(parameter.flip(0))
        torch.testing.assert_close(made(x.flip(1), None).flip(1), both, rtol=1e-9, atol=1e-10)
    for way, before, after in ((1, True, False), (0, False, True)):  # what a convolution of zeros leaves of the other
        with torch.no_grad():
            made = mamba2().double()
            made.filter_WTC[way], made.filter_bias_WC[way] = 0, 0
        (gradient,) = torch.autograd.grad(made(x, None)[0, 50].sum(), x)
        assert bool(gradient[0, :50].any()) is before
        assert bool(gradient[0, 51:].any()) is after


@pytest.mark.parametrize("large", [False, True])
def test_float32_is_near_float64_at_the_benchmarks_lengths(large):
    """Also where steps and rates are as large as training may make them: a state is forgotten within a position."""
    made, x = mamba2(), torch.randn(2, 4096, 64, requires_grad=True)
    if large:
        with torch.no_grad():
            made.step_bias_WH[:, 0] += 30
            made.log_rate_WH += 3
    single = made(x, None)
    gradients = torch.autograd.grad(single.sum(), [x, *made.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    with torch.no_grad():
        double = made.double()(x.double(), None)
    torch.testing.assert_close(single.double(), double, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("task", ["listops", "retrieval", "image"])
def test_the_encoder_of_s4_has_it_too(task):
    cfg = load_config("train", [f"task={task}", "mixer=mamba2", "protocol=s4", "size=tiny"])
    groups = from_config.build_module(cfg).make_optimizer().param_groups
    rates = [(len(group["params"]), group["weight_decay"]) for group in groups]
    assert (4 * cfg.model.num_layers, 0.0) in rates


@pytest.mark.parametrize(
    "words, key, value",
    [
        (["mixer.step_least=0.2"], "mixer.step_least", 0.2),
        (["mixer.states=0"], "mixer.states", 0),
        (["mixer.taps=0"], "mixer.taps", 0),
    ],
)
def test_what_cannot_be_is_refused(words, key, value):
    with pytest.raises(UserError) as refused:
        mamba2(*words)
    assert (refused.value.key, refused.value.value) == (key, value)


def test_heads_that_do_not_divide_the_channels_are_refused():
    with pytest.raises(UserError) as refused:
        mamba2(dims=MixerDims(width=64, num_heads=3, head_dim=32, max_seq_len=8, dropout=0.0))
    assert (refused.value.key, refused.value.right) == ("mixer.expand", 3)
