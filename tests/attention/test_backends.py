"""What each attention backend promises beyond the contract: its limits, its sharing, its kernels, its wrong knobs.

Small bugs that each test must catch stand in planted_bugs.yaml.
"""

import itertools

import pytest
import torch

from lra.base.option_types import WrongValueError
from lra.ops.linear_algebra import exact_pinv
from lra.ops.linear_attention import orthogonal_gaussian
from lra.types import UserError
from tests.attention.test_contract import DIMS, PROTOCOLS, backend, inputs, settings
from tests.reference import attention as reference


def test_nystrom_with_as_many_landmarks_as_tokens_is_exact_attention():
    """At 12 iterations an error of 5e-4 remains."""
    length = 40
    made = backend("nystrom", "clean", length, num_landmarks=length, pinv_iterations=20, value_skip_taps=0)
    q, k, v, _ = inputs(length)
    torch.testing.assert_close(made(q, k, v, None), reference.full(q, k, v, None), rtol=1e-6, atol=1e-6)


def test_nystrom_with_more_landmarks_than_padded_positions_is_exact_attention():
    made = backend("nystrom", "paper", 40, num_landmarks=64, value_skip_taps=0)
    q, k, v, valid = inputs(40)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, reference.full(q, k, v, valid) * real)


def test_nystrom_with_the_exact_pseudo_inverse_equals_its_twin():
    made = backend("nystrom", "clean", 17, num_landmarks=4, pinv="exact")
    q, k, v, valid = inputs(17)
    knobs = settings("nystrom", "clean", num_landmarks=4, pinv="exact")
    slow = reference.nystrom(q, k, v, valid, value_skip=made.value_skip, **knobs)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, slow * real)


@pytest.mark.parametrize("num_landmarks", [16, 64, 256])
@pytest.mark.parametrize("scale", [0.3, 4.0])
def test_gradients_of_the_exact_pseudo_inverse_in_float32_are_those_in_float64(num_landmarks, scale):
    """Near-duplicate landmarks too. With torch's own cut-off, the last bits decide about the gradient."""
    q, k = torch.randn(2, 1, 2, num_landmarks, 32) * scale
    q[:, 1, 1::2] = q[:, 1, ::2] + 1e-3 * torch.randn_like(q[:, 1, ::2])
    k[:, 1, 1::2] = k[:, 1, ::2] + 1e-3 * torch.randn_like(k[:, 1, ::2])
    kernel_2, g = (q @ k.mT * 32**-0.5).softmax(-1), torch.randn(1, 2, num_landmarks, num_landmarks)
    rtol = settings("nystrom", "paper")["pinv_rtol"]

    def gradient(inverse, dtype):
        a = kernel_2.to(dtype).requires_grad_()
        return torch.autograd.grad((inverse(a) * g.to(dtype)).sum(), a)[0].double()

    def error(inverse):
        single, double = (gradient(inverse, dtype) for dtype in (torch.float32, torch.float64))
        return ((single - double).flatten(2).norm(dim=2) / double.flatten(2).norm(dim=2)).max().item()

    assert error(lambda a: exact_pinv(a, rtol=rtol)) < 0.02
    assert error(torch.linalg.pinv) > 0.5


def test_the_math_kernel_of_full_is_the_fused_one():
    q, k, v, valid = inputs(17)
    fused, math = (backend("full", "paper", 17, kernel=kernel) for kernel in ("fused", "math"))
    real = valid[:, None, :, None]
    torch.testing.assert_close(fused(q, k, v, valid) * real, math(q, k, v, valid) * real)


@pytest.mark.parametrize(
    "name, knobs",
    [
        ("full", {"kernel": "flash"}),
        ("full", {"attention_dropout": 1.0}),
        ("nystrom", {"num_landmarks": 0}),
        ("linformer", {"projections": 0}),
        ("linformer", {"sharing": "some"}),
        ("performer", {"features": 0}),
        ("reformer", {"num_hashes": 0}),
        ("reformer", {"chunk_length": 0}),
        ("reformer", {"biases": "none"}),
        ("reformer", {"look_back": "all"}),
        ("reformer", {"rotations": "stored"}),
        ("performer", {"kernel": "elu"}),
        ("performer", {"scaling": "thrice"}),
        ("performer", {"key_maximum": "head"}),
        ("performer", {"padded_keys": "kept"}),
        ("performer", {"maximum_gradient": "kept"}),
        ("performer", {"redraw_every": -1}),
        ("nystrom", {"landmarks": "all"}),
        ("nystrom", {"pinv": "svd"}),
        ("nystrom", {"pinv_start": "zero"}),
        ("nystrom", {"pinv_rtol": 1.0}),
        ("nystrom", {"value_skip_taps": -1}),
        ("nystrom", {"value_skip_taps": 35.5}),
        ("nystrom", {"coarse_landmarks": 8.0}),
        ("nystrom", {"num_landmarks": True}),
        ("performer", {"redraw_every": 1.5}),
        ("performer", {"redraw_every": None}),
    ],
    ids=str,
)
def test_a_value_outside_its_declared_type_is_refused(name, knobs):
    with pytest.raises(WrongValueError) as refused:
        backend(name, "paper", 17, **knobs)
    assert {refused.value.key: refused.value.value} == knobs


def test_the_value_skip_is_odd():
    with pytest.raises(UserError, match="not odd"):
        backend("nystrom", "paper", 17, value_skip_taps=34)


@pytest.mark.parametrize("sharing, parameters", [("all", 1), ("layer", 1), ("none", 2)])
def test_linformer_shares_what_its_setting_says(sharing, parameters):
    first, second = (backend("linformer", "paper", 17, seed=seed, sharing=sharing) for seed in (0, 1))
    second.share_with(first)
    assert len(list(first.parameters())) == parameters
    assert (second.project_keys is first.project_keys) == (sharing == "all")
    q, k, v, valid = inputs(17)
    slow = reference.linformer(q, k, v, valid, **dict(second.named_parameters()))
    torch.testing.assert_close(second(q, k, v, valid), slow)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("masked", [True, False])
def test_performer_with_relu_features_equals_its_twin(protocol, masked):
    made = backend("performer", protocol, 17, kernel="relu", features=20)
    q, k, v, valid = inputs(17)
    valid = valid if masked else None
    knobs = settings("performer", protocol, kernel="relu")
    slow = reference.performer(q, k, v, valid, projection=made.projection, **knobs)
    torch.testing.assert_close(made(q, k, v, valid), slow)


@pytest.mark.slow
@pytest.mark.parametrize("scaling, power", [("once", 0.5), ("twice", 1.0)])
def test_performer_approaches_the_softmax_that_its_scaling_names(scaling, power):
    made = backend("performer", "clean", 40, scaling=scaling, features=20_000)
    q, k, v, _ = inputs(40)
    q, k = 0.7 * q, 0.7 * k  # larger ones need more features than a test can wait for
    exact = reference.softmax_rows(q @ k.mT / DIMS**power) @ v
    other = reference.softmax_rows(q @ k.mT / DIMS ** (1.5 - power)) @ v
    error, other_error = ((made(q, k, v, None) - x).abs().mean().item() for x in (exact, other))
    assert error < 0.05 * v.abs().mean().item()
    assert error < other_error / 1.5


def test_performer_redraws_when_it_says_and_the_draw_travels_with_the_state():
    made = backend("performer", "paper", 17, redraw_every=2).train()
    q, k, v, valid = inputs(17)
    draws = []
    for _ in range(5):
        made(q, k, v, valid)
        draws.append(made.projection.clone())
    same = [one.equal(other) for one, other in itertools.pairwise(draws)]
    assert same == [True, False, True, False]
    made.eval()(q, k, v, valid)
    assert made.projection.equal(draws[-1])


def test_random_features_are_orthogonal_with_gaussian_lengths():
    rows = orthogonal_gaussian(64, 16).double()
    block = rows[:16] @ rows[:16].T
    assert (block - block.diag().diag()).abs().max() < 1e-4
    many = orthogonal_gaussian(4096, 16)
    assert many.square().sum(1).mean().item() == pytest.approx(16, rel=0.05)
