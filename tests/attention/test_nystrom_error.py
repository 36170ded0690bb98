"""The measured errors of Nyström attention, against matrices written out from the paper."""

from __future__ import annotations

import math

import pytest
import torch

from lra.attention.nystrom_error import approximation_error
from lra.build import build_model
from lra.training.approximation import measure_approximation
from lra.types import Batch
from tests.attention.test_contract import DIMS, HEADS, backend
from tests.model.test_encoder import cfg_of


def rows(length=24, batch=3):
    torch.manual_seed(1)
    q, k = torch.randn(2, batch, HEADS, length, DIMS, dtype=torch.float64)
    valid = torch.arange(length) < torch.tensor([[length], [length - 5], [length // 2]])
    return q, k, valid


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_the_attention_error_is_that_of_what_forward_computes(protocol):
    q, k, valid = rows()
    layer = backend("nystrom", protocol, 24, num_landmarks=4, value_skip_taps=0)
    found = approximation_error(layer, q, k, valid, examples=3)
    identity = torch.eye(24, dtype=torch.float64).expand(3, HEADS, 24, 24)
    approximated = torch.cat([layer(q, k, piece, valid) for piece in identity.split(DIMS, dim=-1)], dim=-1)
    scores = (q @ k.mT * DIMS**-0.5).masked_fill(~valid[:, None, None, :], -torch.inf)
    errors = []
    for b in range(3):
        for h in range(HEADS):
            exact, mine = scores[b, h].softmax(-1)[valid[b]], approximated[b, h][valid[b]]
            errors.append((mine - exact).norm() / exact.norm())
    assert found.attention_error == pytest.approx(torch.stack(errors).mean().item(), rel=1e-9)


def test_an_exact_inverse_has_no_residual_and_an_iterated_one_has():
    q, k, valid = rows()
    sizes = {}
    for pinv, iterations in (("exact", 6), ("iterative", 6), ("iterative", 2)):
        layer = backend("nystrom", "clean", 24, num_landmarks=8, pinv=pinv, pinv_iterations=iterations)
        sizes[pinv, iterations] = approximation_error(layer, q, k, valid, examples=3).pinv_residual
    assert sizes["exact", 6] < 1e-12
    assert 1e-6 < sizes["iterative", 6] < sizes["iterative", 2] < 1


def test_landmarks_that_are_the_tokens_approximate_without_error():
    """Queries and keys that are the same all through a segment are what their means say."""
    q, k = (x[:, :, :6].repeat_interleave(4, dim=2) for x in rows()[:2])
    errors = {
        m: approximation_error(
            backend("nystrom", "paper", 24, num_landmarks=m, pinv="exact"), q, k, None, examples=3
        ).attention_error
        for m in (2, 6, 24)
    }
    assert errors[2] > 0.01
    assert errors[6] < 1e-9
    assert errors[24] == 0


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_a_sequence_without_real_tokens_has_no_error(protocol):
    q, k, valid = rows()
    layer = backend("nystrom", protocol, 24, num_landmarks=4, value_skip_taps=0)
    others = approximation_error(layer, q[:2], k[:2], valid[:2], examples=2)
    found = approximation_error(layer, q, k, valid & torch.tensor([[True], [True], [False]]), examples=3)
    assert math.isfinite(found.pinv_residual)
    assert found.attention_error == pytest.approx(others.attention_error, rel=1e-6 if protocol == "clean" else 0.1)


def test_a_models_layers_are_measured_on_a_batch():
    tokens = torch.randint(1, 16, (4, 1, 256))
    batch = Batch(tokens, tokens != 0, torch.zeros(4, dtype=torch.long))
    said = measure_approximation(build_model(cfg_of("size=tiny")), [batch], torch.device("cpu"))
    assert said is not None
    assert len(said["attention_error_layers"]) == 2
    assert said["attention_error"] == pytest.approx(sum(said["attention_error_layers"]) / 2)
    assert 0 < said["attention_error"] < 1
    assert (
        measure_approximation(build_model(cfg_of("size=tiny", "attention=full")), [batch], torch.device("cpu")) is None
    )
