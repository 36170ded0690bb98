"""Wrong settings and wrong inputs of the encoder of real-valued sequences are refused in one line that helps."""

import pytest
import torch

import lra
from lra.base.option_types import WrongValueError
from lra.tools.sequence_encoder import SequenceEncoder
from tests.model.test_sequence_encoder import DIMS, LENGTH, encoder_of


@pytest.mark.parametrize(
    "settings",
    [
        {"num_layers": 0},
        {"embed_dim": 2.5},
        {"dropout": 1.0},
        {"dropout": ".1"},
        {"dropout": None},
        {"num_heads": True},
        {"pooling": ["last"]},
        {"pooling": "first"},
        {"num_landmarks": 0},
        {"num_landmarks": 2.5},
        {"landmark_source": "values"},
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_in_one_line(settings):
    with pytest.raises(WrongValueError) as refused:
        encoder_of(**settings)
    assert {refused.value.key: refused.value.value} == settings
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("width", "right"), [(30, 32), (3, 4)])
def test_heads_divide_the_width(width, right):
    with pytest.raises(lra.UserError, match=f"hidden_size={width} is not divisible by num_heads=4; .*={right}"):
        encoder_of(hidden_size=width, num_heads=4)


def test_a_configuration_in_place_of_mixers_is_refused():
    with pytest.raises(lra.UserError, match=r"make_mixers is of type RunConfig.*lra\.build_mixers\("):
        SequenceEncoder.build(embed_dim=3, make_mixers=lra.compose("attention=full"))


@pytest.mark.parametrize("setting", [{"num_landmarks": 16}, {"landmark_source": "keys"}])
def test_landmarks_beside_mixers_of_ones_own_are_refused(setting):
    with pytest.raises(lra.UserError, match=f"{next(iter(setting))}=.* has no effect beside make_mixers"):
        encoder_of("attention=full", **setting)


@pytest.mark.parametrize(
    "words",
    [
        ("attention=performer", "protocol=paper"),
        ("attention=performer", "protocol=clean", "protocol.performer_padded_keys=counted"),
        ("attention=landmark", "protocol=paper"),
        ("attention=nystrom", "protocol=clean", "attention.landmarks=padded"),
    ],
)
def test_a_method_whose_vectors_depend_on_the_batch_or_on_the_length_of_padding_is_refused(words):
    cfg = lra.compose(*words)
    with pytest.raises(lra.UserError, match="protocol=clean"):
        SequenceEncoder.build(embed_dim=3, make_mixers=lra.build_mixers(cfg))


X = torch.zeros(2, LENGTH, DIMS, dtype=torch.float64)
REAL = torch.ones(2, LENGTH, dtype=torch.bool)


@pytest.mark.parametrize(
    ("inputs", "words", "said"),
    [
        ((X[0],), {}, r"input of shape \[23, 5\] is not \[batch, seq_len, 5\]"),
        ((X[:, :, :4],), {}, r"input of shape \[2, 23, 4\].*embed_dim=5"),
        ((torch.zeros(2, 24, DIMS).double(),), {}, "24 positions.*window_size=23.*window_size=24"),
        ((X[:, :0],), {}, "no position"),
        ((X.float(),), {}, r"float32.*float64"),
        ((X.long(),), {}, r"int64.*float64"),
        ((X, REAL.int()), {}, r"mask is int32.*mask\.bool\(\)"),
        ((X, REAL[:, 1:]), {}, r"mask of shape \[2, 22\].*\[2, 23\]"),
        ((X.numpy(),), {}, "the input must be a tensor, not ndarray; type for example torch.as_tensor"),
        ((X, REAL.tolist()), {}, "the mask must be a tensor, not list"),
        ((X,), {"lengths": [1, 2]}, "the lengths must be a tensor, not list"),
        ((X, REAL), {"lengths": torch.tensor([1, 2])}, "mask and lengths"),
        ((X,), {"lengths": torch.tensor([1])}, r"lengths of shape \[1\].*\[2\]"),
        ((X,), {"lengths": torch.tensor([1.0, 2.0])}, "lengths are float32"),
        ((X,), {"lengths": torch.tensor([1, 24])}, "lengths from 1 to 24.*0 to 23"),
        ((X,), {"lengths": torch.tensor([-1, 2])}, "lengths from -1 to 2.*0 to 23"),
    ],
)
def test_a_wrong_input_is_refused_in_one_line(inputs, words, said):
    with pytest.raises(lra.UserError, match=said) as refused:
        encoder_of()(*inputs, **words)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", [None, "attention=landmark", "mixer=s4d", "mixer=gated"])
@pytest.mark.parametrize("packed", [True, False])
def test_no_sequences_give_no_vectors(method, packed):
    encoder = encoder_of(method)
    assert encoder(X[:0], REAL[:0], packed=packed).shape == (0, encoder(X, REAL).shape[1])


def test_weights_shorter_than_float32_are_refused():
    with pytest.raises(lra.UserError, match=r"weights are bfloat16.*encoder\.float\(\).*autocast") as refused:
        encoder_of().bfloat16()(X.bfloat16(), REAL)
    assert "\n" not in str(refused.value)


def on_another_device(encoder):
    return encoder(X.to("meta"), REAL.to("meta"), packed=True)


def in_mixed_precision(encoder):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return encoder(X, REAL, packed=True)


def compiled(encoder):
    torch._dynamo.reset()
    return torch.compile(encoder, backend="eager")(X, REAL, packed=True)


def transformed(encoder):
    return torch.func.vmap(lambda x_LI: encoder(x_LI[None], packed=True))(X)


@pytest.mark.parametrize("call", [on_another_device, in_mixed_precision, compiled, transformed])
@pytest.mark.parametrize("method", [None, "attention=full", "mixer=s4d"])
def test_the_packed_form_is_refused_where_there_is_none(method, call):
    encoder = encoder_of(method)
    with pytest.raises(lra.UserError, match=r"packed=True works on a CPU.*leave packed out") as refused:
        call(encoder)
    assert "\n" not in str(refused.value)
    torch.testing.assert_close(encoder(X, REAL, packed=True), encoder(X, REAL, packed=False))
