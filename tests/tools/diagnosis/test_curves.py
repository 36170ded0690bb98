"""Errors of a layer's heads: against the number of landmarks, of the inverse, and of matrices that are known."""

from itertools import pairwise

import pytest
import torch
from hydra.utils import instantiate

from lra.tools.diagnosis.curves import APPROXIMATIONS, RULES, landmark_tokens
from lra.tools.diagnosis.landmark_matrices import landmark_kernels
from lra.tools.diagnosis.matrices import LayerInputs
from lra.tools.diagnosis.measure import convergence, measure_layer
from lra.tools.diagnosis.swap import Variants
from lra.training.approximation import approximation_error
from tests.attention.test_contract import DIMS, settings
from tests.tools.diagnosis.models import peaked


def nystrom_with(**options):
    return instantiate(settings("nystrom", "clean", value_skip_taps=0, **options))


def heads_of(inputs: LayerInputs, **options):
    return measure_layer(inputs, Variants(make=nystrom_with(**options)), lambda: None)[0]


def curve(head, method):
    (found,) = [curve for curve in head["curves"] if curve["method"] == method]
    return found


@pytest.fixture(scope="module")
def heads():
    return heads_of(peaked(nystrom_with(pinv="exact", pinv_rtol=1e-5), 128, 128, 60), pinv="exact", pinv_rtol=1e-5)


@pytest.mark.parametrize("method", APPROXIMATIONS)
def test_no_error_is_left_with_as_many_landmarks_as_tokens(heads, method):
    for head in heads:
        found = curve(head, method)
        assert found["num_landmarks"] == [8, 16, 32, 64, 128]
        assert found["matrix_error"][0] > 0.1
        assert found["matrix_error"][-1] < 1e-2
        assert method == "best" or found["output_error"][-1] < 1e-2


def test_the_bounds_hold_for_each_count(heads):
    """Nothing of this rank is nearer than the singular value decomposition; no C U R than the optimal one."""
    for head in heads:
        for classical, cur, best in zip(*(curve(head, m)["matrix_error"] for m in APPROXIMATIONS[-3:]), strict=True):
            assert best <= cur + 1e-9 <= classical + 2e-9
        for rule in RULES:
            pairs = zip(curve(head, rule)["matrix_error"], curve(head, "best")["matrix_error"], strict=True)
            assert all(mine >= least - 1e-5 for mine, least in pairs)
    cur = curve(heads[0], "cur")["matrix_error"]
    assert cur == sorted(cur, reverse=True)


def test_the_error_of_the_layer_is_the_one_that_a_record_has():
    inputs = peaked(nystrom_with(num_landmarks=8), 60, 60, 41, 12)
    heads = heads_of(inputs, num_landmarks=8)
    noted = approximation_error(inputs.backend, inputs.q, inputs.k, inputs.valid, examples=3)
    assert sum(head["matrix_error"] for head in heads) / len(heads) == pytest.approx(noted.attention_error, rel=1e-4)
    step = heads[0]["convergence"]["steps"].index(6)
    mean = sum(head["convergence"]["residual"][step] for head in heads) / len(heads)
    assert mean == pytest.approx(noted.pinv_residual, rel=1e-3)


def test_exact_attention_has_no_error_and_uniform_attention_that_of_equal_weights():
    """Queries of zero attend to all tokens alike: a matrix of rank one, which equal weights are."""
    inputs = peaked(instantiate(settings("full", "clean")), 40, 40, 25)
    for head in heads_of(inputs):
        assert max(head["matrix_error"], head["spectral_error"], head["output_error"]) < 1e-5
        assert head["uniform_error"] > 0.1
        assert 1 < head["effective_rank"] < head["rank_99"] * 3
    alike = LayerInputs(backend=inputs.backend, q=0 * inputs.q, k=inputs.k, v=inputs.v, valid=inputs.valid)
    for head in heads_of(alike):
        assert head["effective_rank"] == pytest.approx(1)
        assert head["rank_99"] == 1
        assert head["uniform_error"] < 1e-9
        assert head["landmark_condition"] is None, "equal rows"


def test_tokens_that_attend_to_themselves_alone_are_the_identity():
    inputs = peaked(instantiate(settings("full", "clean")), DIMS, DIMS)
    far = torch.eye(DIMS).expand_as(inputs.q) * 1e3
    for head in heads_of(LayerInputs(backend=inputs.backend, q=far, k=far, v=inputs.v, valid=inputs.valid)):
        assert head["effective_rank"] == pytest.approx(DIMS)
        assert head["rank_99"] == DIMS
        assert head["landmark_condition"] == pytest.approx(1)


def test_the_inverse_converges_step_by_step_on_a_well_conditioned_kernel():
    kernel = torch.eye(8, dtype=torch.float64) + 0.05 * torch.rand(2, 3, 8, 8, dtype=torch.float64)
    heads = convergence(kernel, start="per_matrix", rtol=1e-4)
    assert len(heads) == 3
    for head in heads:
        for errors in (head["residual"], head["distance"]):
            assert all(later < max(earlier, 1e-12) for earlier, later in pairwise(errors))
            assert errors[-1] < 1e-12


def test_landmarks_that_no_token_has_count_in_no_condition():
    inputs = peaked(nystrom_with(num_landmarks=16), 40, 40, 9)
    kernels, used = landmark_kernels(inputs.backend, inputs)
    assert used.sum(1).tolist() == [16, 9]
    assert not kernels[1, :, 9:].any()
    assert all(head["landmark_condition"] < 1e3 for head in heads_of(inputs, num_landmarks=16))


@pytest.mark.parametrize("tokens, count, places", [(8, 2, [2, 6]), (5, 5, [0, 1, 2, 3, 4]), (3, 9, [0, 1, 2])])
def test_landmark_tokens_are_the_middles_of_segments(tokens, count, places):
    assert landmark_tokens(tokens, count).tolist() == places
