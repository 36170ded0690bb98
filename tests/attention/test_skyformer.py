"""What Skyformer promises beyond the contract: its limit, and when its landmarks are sampled.

Small bugs that each test must catch stand in planted_bugs.yaml.
"""

import pytest
import torch

from lra.base.option_types import WrongValueError
from tests.attention.test_contract import DIMS, backend, inputs, settings
from tests.reference import twin


@pytest.mark.parametrize("num_landmarks", [1, 5, 30])
@pytest.mark.parametrize("masked", [True, False])
def test_few_landmarks_equal_the_slow_twin(num_landmarks, masked):
    made = backend("skyformer", "paper", 17, num_landmarks=num_landmarks)
    q, k, v, valid = inputs(17)
    knobs = settings("skyformer", "paper", num_landmarks=num_landmarks)
    slow = twin("skyformer")(q, k, v, valid if masked else None, **knobs, landmark_seed=made.landmark_seed)
    real = valid[:, None, :, None] if masked else 1
    torch.testing.assert_close(made(q, k, v, valid if masked else None) * real, slow * real)


def test_with_all_queries_and_keys_as_landmarks_it_is_attention_with_the_gaussian_kernel():
    made = backend("skyformer", "paper", 17, num_landmarks=34, regularisation=1e-9)
    q, k, v, valid = inputs(17)
    distances = (q[:, :, :, None] - k[:, :, None]).square().sum(-1)
    kernel = (-distances / (2 * DIMS**0.5)).exp() * valid[:, None, None, :]
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, kernel @ v * real, rtol=1e-5, atol=1e-5)


def test_evaluation_repeats_its_landmarks_and_training_samples_anew_from_torchs_generator():
    made = backend("skyformer", "paper", 40, num_landmarks=8)
    q, k, v, valid = inputs(40)
    first = made(q, k, v, valid)
    assert made(q, k, v, valid).equal(first)
    made.train()
    torch.manual_seed(5)
    drawn = made(q, k, v, valid)
    assert not made(q, k, v, valid).equal(drawn)
    torch.manual_seed(5)
    assert made(q, k, v, valid).equal(drawn), "a resumed run goes on from the generator's state"
    assert made.eval()(q, k, v, valid).equal(first)


@pytest.mark.parametrize("knobs", [{"num_landmarks": 0}, {"regularisation": 0.0}, {"regularisation": float("nan")}])
def test_a_value_outside_its_declared_range_is_refused(knobs):
    with pytest.raises(WrongValueError) as refused:
        backend("skyformer", "paper", 17, **knobs)
    assert knobs.keys() == {refused.value.key}
