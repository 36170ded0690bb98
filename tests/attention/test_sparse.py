"""What local attention, Longformer and BigBird promise beyond the contract: small windows, limits, drawn blocks.

Small bugs that each test must catch stand in planted_bugs.yaml.
"""

import pytest
import torch
from hydra.utils import instantiate

from lra.base.option_types import WrongValueError
from lra.tools.testing import contract
from lra.tools.testing.subjects import HEADS, AttentionSubject
from lra.types import UserError
from tests.attention.test_contract import backend, inputs, settings
from tests.reference import twin

KNOBS = [
    ("local", {"block_length": 4, "neighbour_blocks": 0}),
    ("local", {"block_length": 4, "neighbour_blocks": 2}),
    ("longformer", {"window": 4, "global_tokens": 0}),
    ("longformer", {"window": 4, "global_tokens": 3}),
    ("longformer", {"window": 2, "global_tokens": 1}),
    ("bigbird", {"block_length": 2, "window_blocks": 3, "global_blocks": 1, "random_blocks": 2}),
    ("bigbird", {"block_length": 2, "window_blocks": 1, "global_blocks": 0, "random_blocks": 3}),
    ("bigbird", {"block_length": 3, "window_blocks": 3, "global_blocks": 2, "random_blocks": 0}),
    ("bigbird", {"block_length": 8, "window_blocks": 1, "global_blocks": 1, "random_blocks": 99}),
]
ALL = [
    ("local", {"block_length": 3, "neighbour_blocks": 5}),
    ("longformer", {"window": 32, "global_tokens": 3}),
    ("longformer", {"window": 2, "global_tokens": 17}),
    ("bigbird", {"block_length": 3, "window_blocks": 1, "global_blocks": 1, "random_blocks": 6}),
]


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("name, knobs", KNOBS)
def test_small_windows_equal_the_slow_twin(name, knobs, masked):
    chosen = settings(name, "paper", **knobs)
    subject = AttentionSubject(instantiate(chosen), knobs)
    contract.equals_reference(subject, reference=twin(name), length=21, masked=masked)


@pytest.mark.parametrize("name, knobs", ALL)
def test_what_sees_all_is_exact_attention(name, knobs):
    q, k, v, valid = inputs(17)
    real = valid[:, None, :, None]
    out = backend(name, "paper", 17, **knobs)(q, k, v, valid)
    torch.testing.assert_close(out * real, twin("full")(q, k, v, valid) * real)


def test_local_attention_of_width_one_mixes_nothing():
    q, k, v, valid = inputs(17)
    real = valid[:, None, :, None]
    out = backend("local", "paper", 17, block_length=1)(q, k, v, valid)
    assert torch.equal(out * real, backend("none", "paper", 17)(q, k, v, valid) * real)


@pytest.mark.parametrize("length", [1, 5, 16, 31, 40])
def test_bigbird_takes_any_length_up_to_the_longest(length):
    made = backend("bigbird", "paper", 40, block_length=3, random_blocks=4, global_blocks=1)
    q, k, v, valid = inputs(length)
    knobs = settings("bigbird", "paper", block_length=3, random_blocks=4, global_blocks=1)
    slow = twin("bigbird")(q, k, v, valid, **knobs, drawn_blocks=made.drawn_blocks)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, slow * real)


def test_the_random_blocks_of_a_block_are_all_different_and_seen_by_nothing_else():
    made = backend("bigbird", "paper", 20, block_length=1, window_blocks=5, global_blocks=2, random_blocks=6)
    assert made.drawn_blocks.shape == (20, HEADS, 6)
    for own, heads in enumerate(made.drawn_blocks.tolist()):
        for drawn in heads:
            assert len(set(drawn)) == 6
            assert all(abs(block - own) > 2 and 2 <= block < 20 for block in drawn)
    by_head = made.drawn_blocks.unbind(1)
    assert not by_head[0].equal(by_head[1])


def test_the_random_blocks_are_drawn_by_the_seed_and_saved():
    first, same, other = (backend("bigbird", "paper", 40, block_length=2, seed=seed) for seed in (0, 0, 1))
    assert first.drawn_blocks.equal(same.drawn_blocks)
    assert not first.drawn_blocks.equal(other.drawn_blocks)
    other.load_state_dict(first.state_dict())
    assert first.drawn_blocks.equal(other.drawn_blocks)
    drawn = first.drawn_blocks.clone()
    first.train()(*inputs(40))
    assert first.drawn_blocks.equal(drawn)


@pytest.mark.parametrize(
    "name, knobs",
    [
        ("local", {"block_length": 0}),
        ("local", {"neighbour_blocks": -1}),
        ("longformer", {"window": 0}),
        ("longformer", {"window": 256.0}),
        ("longformer", {"global_tokens": -1}),
        ("bigbird", {"block_length": 0}),
        ("bigbird", {"window_blocks": 0}),
        ("bigbird", {"window_blocks": 3.0}),
        ("bigbird", {"global_blocks": -1}),
        ("bigbird", {"random_blocks": -1}),
    ],
    ids=str,
)
def test_a_number_outside_its_declared_range_is_refused(name, knobs):
    with pytest.raises(WrongValueError) as refused:
        backend(name, "paper", 17, **knobs)
    assert {refused.value.key: refused.value.value} == knobs


@pytest.mark.parametrize(("name", "knob", "wrong"), [("longformer", "window", 255), ("bigbird", "window_blocks", 2)])
def test_a_window_that_cannot_be_centred_is_refused(name, knob, wrong):
    with pytest.raises(UserError, match=f"attention.{knob}={wrong} "):
        backend(name, "paper", 17, **{knob: wrong})


def test_a_longer_sequence_than_the_longest_is_a_fault_of_ours():
    made = backend("bigbird", "paper", 8)
    with pytest.raises(AssertionError, match="length 9 > 8"):
        made(*inputs(9))
