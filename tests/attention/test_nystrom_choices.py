"""The choices of Nyström attention: rules and sources of landmarks, inverses, coarse landmarks."""

import pytest
import torch

from lra.base.option_types import WrongValueError
from lra.ops.landmarks import cluster_means
from lra.training.approximation import approximation_error
from lra.types import UserError
from tests.attention.test_contract import backend, inputs, mix, settings
from tests.reference import attention as reference

CHOICES = [
    {"landmark_rule": "strided"},
    {"landmark_rule": "random"},
    {"landmark_rule": "kmeans"},
    {"landmark_source": "keys"},
    {"landmark_rule": "kmeans", "landmark_source": "keys", "kmeans_steps": 1},
    {"pinv": "regularised"},
    {"pinv": "none"},
    {"coarse_landmarks": 3, "pinv": "regularised"},
    {"value_skip_form": "product"},
]


def by_twin(made, protocol, q, k, v, valid, **knobs):
    state = {name.split(".")[-1]: tensor for name, tensor in made.state_dict(keep_vars=True).items()}
    return reference.nystrom(q, k, v, valid, **settings("nystrom", protocol, **knobs), **state)


@pytest.mark.some_fast(16)
@pytest.mark.parametrize("length", [1, 6, 17, 40])
@pytest.mark.parametrize("protocol", ["paper", "clean"])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_outputs_and_gradients_are_those_of_the_slow_twin_padded_and_packed(choice, protocol, length):
    knobs = {"num_landmarks": 5, "value_skip_taps": 3, **choice}
    made = backend("nystrom", protocol, length, **knobs)
    q, k, v, valid = inputs(length)
    weight = torch.randn_like(v) * valid[:, None, :, None]

    def with_gradients(out):
        return out * valid[:, None, :, None], *torch.autograd.grad(
            (out * weight).sum(), [q, k, v], materialize_grads=True
        )

    slow = with_gradients(by_twin(made, protocol, q, k, v, valid, **knobs))
    for form in ("padded", "packed"):
        fast = with_gradients(mix(made, form, q, k, v, valid))
        for mine, twins in zip(fast, slow, strict=True):
            torch.testing.assert_close(mine, twins, rtol=1e-7, atol=1e-9)


def test_as_many_coarse_landmarks_as_landmarks_give_the_exact_pseudo_inverse():
    q, k, v, valid = inputs(40)
    real = valid[:, None, :, None]
    knobs = {"num_landmarks": 6, "value_skip_taps": 0}
    coarse = backend("nystrom", "clean", 40, coarse_landmarks=6, pinv="regularised", pinv_ridge=1e-12, **knobs)
    exact = backend("nystrom", "clean", 40, pinv="exact", pinv_rtol=0.0, **knobs)
    torch.testing.assert_close(coarse(q, k, v, valid) * real, exact(q, k, v, valid) * real, rtol=1e-4, atol=1e-5)


def test_clusters_find_runs_of_equal_tokens_that_segments_cut_through():
    """With every different query and key among the landmarks Nyström attention is exact."""
    torch.manual_seed(0)
    runs = torch.repeat_interleave(torch.tensor([5, 11, 6, 10]))
    q = k = torch.randn(1, 1, 4, 8, dtype=torch.float64)[:, :, runs]
    v = torch.randn_like(k)
    exact = reference.full(q, k, v, None)
    errors = {}
    for rule in ("segment_means", "kmeans"):
        knobs = {"num_landmarks": 4, "landmark_rule": rule, "kmeans_steps": 5, "value_skip_taps": 0, "pinv": "exact"}
        errors[rule] = (backend("nystrom", "clean", 32, **knobs)(q, k, v, None) - exact).norm() / exact.norm()
    assert errors["kmeans"] < 1e-6 < 0.1 < errors["segment_means"], errors


def test_a_centre_that_is_not_in_use_takes_no_token():
    tokens = torch.tensor([0.0, 1.0, 5.0, 6.0])[None, None, :, None]
    centres = torch.tensor([0.0, 4.0, 6.0])[None, None, :, None]
    used, among = torch.tensor([[True, True, False]]), torch.ones(1, 4, dtype=torch.bool)
    moved = cluster_means(tokens, centres, used, among, steps=1)
    assert moved.flatten().tolist() == [0.5, 5.5, 6.0]


def test_random_landmarks_are_new_in_training_and_the_same_in_evaluation():
    made = backend("nystrom", "clean", 40, num_landmarks=5, landmark_rule="random")
    q, k, v, valid = inputs(40)
    assert torch.equal(made(q, k, v, valid), made(q, k, v, valid))
    made.train()
    assert not torch.equal(made(q, k, v, valid), made(q, k, v, valid))
    other = backend("nystrom", "clean", 40, seed=1, num_landmarks=5, landmark_rule="random")
    other.load_state_dict(made.state_dict())
    assert torch.equal(other.eval()(q, k, v, valid), made.eval()(q, k, v, valid))


@pytest.mark.parametrize(
    "choice", [*CHOICES, {"coarse_landmarks": 3, "pinv": "regularised", "landmark_rule": "strided"}], ids=str
)
def test_the_error_of_every_choice_is_that_of_the_matrix_which_unit_vectors_as_values_show(choice):
    q, k, _, valid = inputs(40)
    made = backend("nystrom", "clean", 40, num_landmarks=5, value_skip_taps=0, **choice)
    units = torch.eye(40, dtype=q.dtype).expand(*q.shape[:2], -1, -1).split(q.shape[3], dim=3)
    shown, exact = (torch.cat([mix(q, k, v, valid) for v in units], 3) for mix in (made, reference.full))
    errors = [
        (shown[b][:, real] - exact[b][:, real]).norm(dim=(1, 2)) / exact[b][:, real].norm(dim=(1, 2))
        for b, real in enumerate(valid)
        if real.any()
    ]
    error = approximation_error(made, q, k, valid, examples=len(q))
    assert error.attention_error == pytest.approx(torch.stack(errors).mean().item())


@pytest.mark.parametrize(
    "knobs",
    [
        {"landmark_rule": "means"},
        {"landmark_source": "queries"},
        {"kmeans_steps": 0},
        {"pinv_ridge": 0.0},
        {"coarse_landmarks": -1},
    ],
    ids=str,
)
def test_a_value_outside_its_declared_type_is_refused(knobs):
    with pytest.raises(WrongValueError) as refused:
        backend("nystrom", "paper", 16, **knobs)
    assert {refused.value.key: refused.value.value} == knobs


@pytest.mark.parametrize("pinv", ["iterative", "exact", "none"])
def test_coarse_landmarks_invert_with_a_ridge(pinv):
    with pytest.raises(UserError, match=r"attention\.pinv=regularised"):
        backend("nystrom", "paper", 16, coarse_landmarks=2, pinv=pinv)
