"""Performer on packed tokens against its padded form: every choice, several tiles, equal keys."""

import itertools
from typing import get_args

import pytest
import torch

from lra.attention.base import AttentionDims
from lra.attention.performer import PerformerAttention
from lra.base.protocol import PerformerKeyMaximum, PerformerMaximumGradient, PerformerPaddedKeys
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed

HEADS, DIMS, LENGTH, FEATURES = 2, 4, 40, 10
KNOBS = [
    dict(zip(("key_maximum", "maximum_gradient", "padded_keys", "scaling"), values, strict=True))
    for values in itertools.product(
        *map(get_args, (PerformerKeyMaximum, PerformerMaximumGradient, PerformerPaddedKeys)), ["once"]
    )
]


@pytest.fixture(autouse=True)
def several_tiles(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr("lra.packed.performer.TILE_ENTRIES", HEADS * FEATURES * 16)  # the last tile of 40 tokens has 8


def performer(**knobs: str) -> PerformerAttention:
    dims = AttentionDims(num_heads=HEADS, head_dim=DIMS, max_seq_len=LENGTH)
    chosen = {"kernel": "softmax", "redraw_every": 0, **KNOBS[0], **knobs}
    return PerformerAttention(dims, features=FEATURES, **chosen).double()


def assert_packed_is_padded(
    attention: PerformerAttention, qkv_PBLD: torch.Tensor, valid_BL: torch.Tensor | None
) -> None:
    packing = Packing(valid_BL, batch=qkv_PBLD.shape[1], length=LENGTH)
    qkv_PBLD.requires_grad_()
    packed = attend_packed(attention, torch.stack([packing.pack(x) for x in qkv_PBLD]), packing)
    q, k, v = qkv_PBLD.unflatten(3, (HEADS, DIMS)).transpose(2, 3)
    padded = packing.pack(attention(q, k, v, valid_BL).transpose(1, 2).flatten(2))
    torch.testing.assert_close(packed, padded, rtol=1e-10, atol=1e-12)
    grad = torch.randn_like(packed)
    both = (torch.autograd.grad(x, qkv_PBLD, grad, retain_graph=True)[0] for x in (packed, padded))
    torch.testing.assert_close(*both, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("padding", ["none", "ends", "holes", "everywhere"])
@pytest.mark.parametrize("knobs", KNOBS, ids=lambda knobs: "-".join(knobs.values()))
def test_outputs_and_gradients_are_those_of_the_padded_form(knobs, padding):
    valid = {
        "none": None,
        "ends": torch.arange(LENGTH) < torch.tensor([17, 40, 0, 3])[:, None],
        "holes": torch.rand(4, LENGTH) < 0.4,
        "everywhere": torch.zeros(4, LENGTH, dtype=torch.bool),
    }[padding]
    assert_packed_is_padded(performer(**knobs), torch.randn(3, 4, LENGTH, HEADS * DIMS, dtype=torch.float64), valid)


@pytest.mark.parametrize("key_maximum", get_args(PerformerKeyMaximum))
def test_keys_that_share_the_maximum_share_its_gradient(key_maximum):
    """Sequences that begin with the same token have the same first key."""
    qkv = torch.randn(3, 4, LENGTH, HEADS * DIMS, dtype=torch.float64)
    qkv[1, :, 0] = 5 * qkv[1, 0, 0]
    qkv[1, :, 20] = qkv[1, 0, 0]
    assert_packed_is_padded(performer(key_maximum=key_maximum, maximum_gradient="passed"), qkv, None)


@pytest.mark.parametrize("padded_keys", get_args(PerformerPaddedKeys))
@pytest.mark.parametrize("key_maximum", get_args(PerformerKeyMaximum))
def test_padding_can_have_the_maximum(key_maximum, padded_keys):
    """Then all products of real keys are negative."""
    attention = performer(key_maximum=key_maximum, padded_keys=padded_keys, maximum_gradient="passed")
    attention.projection.abs_()
    qkv = torch.rand(3, 4, LENGTH, HEADS * DIMS, dtype=torch.float64)
    valid = torch.arange(LENGTH) < torch.tensor([17, 40, 0, 3])[:, None]
    qkv[1] *= -1
    assert_packed_is_padded(attention, qkv, valid)


def test_training_draws_new_features_in_the_packed_form_too():
    attention = performer(kernel="softmax").train()
    attention.redraw_every = 1
    qkv, packing = torch.randn(3, 2 * LENGTH, HEADS * DIMS, dtype=torch.float64), Packing(None, batch=2, length=LENGTH)
    first, second = attend_packed(attention, qkv, packing), attend_packed(attention, qkv, packing)
    assert not first.allclose(second)
    attention.eval()
    assert attend_packed(attention, qkv, packing).equal(attend_packed(attention, qkv, packing))
