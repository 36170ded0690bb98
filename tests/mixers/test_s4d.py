"""S4D: its initial numbers, its count of parameters, its refusals, its filters over the lengths of the benchmark."""

import math

import pytest
import torch

from lra import from_config
from lra.model.classifier import count_parameters
from lra.model.mixer import MixerDims
from lra.settings.compose import load_config
from lra.types import UserError

DIMS = MixerDims(width=64, num_heads=2, head_dim=32, max_seq_len=2048, dropout=0.1)


def s4d(*words: str, seed: int = 0):
    torch.manual_seed(seed)
    cfg = load_config("train", ["mixer=s4d", *words])
    return next(from_config.build_mixers(cfg)(DIMS, 1))


@pytest.mark.parametrize("states", [2, 16, 64])
@pytest.mark.parametrize("init", ["lin", "inv"])
def test_the_initial_a_is_the_papers(init, states):
    made = s4d(f"mixer.init={init}", f"mixer.states={states}")
    for n in range(states // 2):
        frequency = math.pi * n if init == "lin" else states / math.pi * (states / (2 * n + 1) - 1)
        assert made.frequency_DN[:, n].tolist() == pytest.approx([frequency] * 64, rel=1e-6)
    assert (-made.log_decay_DN.exp()).unique().item() == pytest.approx(-0.5)


def test_the_initial_steps_are_log_uniform_and_c_is_a_standard_complex_gaussian():
    torch.manual_seed(0)
    cfg = load_config("train", ["mixer=s4d", "mixer.step_least=0.01", "mixer.step_most=0.1"])
    made = next(
        from_config.build_mixers(cfg)(MixerDims(width=2000, num_heads=1, head_dim=1, max_seq_len=8, dropout=0.0), 1)
    )
    step = made.log_step_D.exp()
    assert 0.01 <= step.min() < 0.0101
    assert 0.099 < step.max() <= 0.1
    assert made.log_step_D.mean().item() == pytest.approx(math.log(0.001) / 2, abs=0.05)
    c = torch.view_as_complex(made.c_2DNZ.detach())
    assert c.abs().square().mean().item() == pytest.approx(1, abs=0.02)
    assert abs(c.mean().item()) < 0.02


@pytest.mark.parametrize("learned", [False, True])
def test_the_parameters_are_as_many_as_the_formula_says(learned):
    made = s4d(f"mixer.input={'learned' if learned else 'fixed'}")
    width, states = 64, 64
    step, skip, a, c, b = width, width, width * states, 2 * width * states, width * states * learned
    linear = 2 * width * width + 2 * width
    assert count_parameters(made) == step + skip + a + b + c + linear
    assert count_parameters(made) == (24_832 if learned else 20_736)


@pytest.mark.parametrize("init", ["lin", "inv"])
@pytest.mark.parametrize("rule", ["zoh", "bilinear"])
@pytest.mark.parametrize("length", [1, 2, 3, 250, 2000, 4096])
def test_a_filter_is_the_sum_of_powers_of_the_discretised_ratio(init, rule, length):
    made = s4d(f"mixer.init={init}", f"mixer.discretisation={rule}").double()
    with torch.no_grad():
        a = torch.complex(-made.log_decay_DN.exp(), made.frequency_DN)
        step = made.log_step_D.exp()[:, None]
        if rule == "zoh":
            ratio, inputs = (step * a).exp(), ((step * a).exp() - 1) / a
        else:
            ratio, inputs = (1 + step * a / 2) / (1 - step * a / 2), step / (1 - step * a / 2)
        c = torch.view_as_complex(made.c_2DNZ)
        terms = c * inputs
        expected = []
        for _ in range(length):
            expected.append(2 * terms.sum(-1).real)
            terms = terms * ratio
        torch.testing.assert_close(made.filters(length), torch.stack(expected, -1), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("states", [4, 64])
def test_legs_is_the_normal_part_of_hippo_legs(states):
    """A pair of its eigenvalues has its part of the matrix; B is cut, so it is compared where it is not."""
    made = s4d("mixer.init=legs", f"mixer.states={states}", "mixer.input=learned")
    n = torch.arange(states, dtype=torch.float64)
    root = (2 * n + 1).sqrt()
    hippo = -(torch.outer(root, root).tril(-1) + torch.diag(n + 1))
    normal = hippo + torch.outer(root, root) / 2
    eigenvalues = torch.linalg.eigvals(normal)
    assert eigenvalues.real.tolist() == pytest.approx([-0.5] * states)
    assert sorted(made.frequency_DN[0].tolist()) == pytest.approx(
        sorted(eigenvalues.imag[eigenvalues.imag > 0].tolist()), rel=1e-5
    )
    b = torch.view_as_complex(made.b_DNZ.detach())[0]
    assert b.imag.abs().max() <= 2
    if states == 4:
        assert 2 * b.abs().square().sum().item() == pytest.approx(root.square().sum().item(), rel=0.5)


def test_channels_share_pairs_by_turns_and_begin_after_the_present():
    made = s4d("mixer.copies=2", "mixer.states=4", "mixer.backward=after_present", "mixer.step_form=softplus").double()
    assert made.frequency_DN.shape == (2, 2)
    with torch.no_grad():
        made.log_decay_DN[1] += 1
        made.log_step_D.fill_(0.5)
        made.c_2DNZ.copy_(made.c_2DNZ[:, :1])
        ahead, back = made.filters(9)
        assert ahead[0].equal(ahead[2])
        assert not ahead[0].equal(ahead[1])
        made.out.weight.copy_(torch.eye(128, 64))
        made.out.bias.copy_(torch.cat([torch.zeros(64), torch.full((64,), 50.0)]))
        made.skip_D.zero_()
        x = torch.zeros(1, 9, 64, dtype=torch.float64)
        x[0, 4] = 1
        expected = torch.cat([back[:, :4].flip(1), ahead[:, :5]], 1)
        torch.testing.assert_close(made(x, None)[0].T, torch.nn.functional.gelu(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["exp", "softplus"])
def test_the_initial_steps_are_the_same_in_both_forms(form):
    made = s4d(f"mixer.step_form={form}").double()
    step = made.log_step_D.exp() if form == "exp" else torch.nn.functional.softplus(made.log_step_D)
    torch.testing.assert_close(step, s4d().double().log_step_D.exp(), rtol=1e-4, atol=0)


def test_float32_is_near_float64_at_the_benchmarks_lengths():
    made = s4d()
    x = torch.randn(2, 4096, 64)
    with torch.no_grad():
        single = made(x, None)
        double = made.double()(x.double(), None)
    torch.testing.assert_close(single.double(), double, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "word",
    [
        "mixer.init=rand",
        "mixer.copies=3",
        "mixer.discretisation=euler",
        "mixer.input=none",
        "mixer.states=63",
        "mixer.step_least=0.2",
    ],
)
def test_what_cannot_be_is_refused(word):
    with pytest.raises(UserError, match=word):
        s4d(word)
