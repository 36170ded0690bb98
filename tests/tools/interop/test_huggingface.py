"""A Nyströmformer of transformers and ours are the same function, and the weights go both ways to the bit."""

import random

import pytest
import torch

from lra.tools.interop.huggingface import from_huggingface, to_huggingface
from lra.tools.interop.nystromformer import landmark_length
from lra.types import UserError
from tests.conftest import ROOT

transformers = pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
CONFIGURATIONS, WITH_GRADIENTS = range(20), range(6)  # seeds
CLASSES = ("NystromformerModel", "NystromformerForMaskedLM", "NystromformerForSequenceClassification")


def drawn_config(seed: int, **fields):
    """A random configuration: a third has exact attention, the others landmarks, some of which leave a rest."""
    draw = random.Random(seed)
    heads, landmarks = draw.choice([1, 2, 3]), draw.choice([1, 4, 6])
    length = landmarks * draw.choice([1, 3, 5]) + draw.choice([0, 0, landmarks - 1])
    return transformers.NystromformerConfig(
        vocab_size=draw.randint(20, 60),
        hidden_size=heads * draw.choice([4, 8]),
        num_hidden_layers=draw.randint(1, 3),
        num_attention_heads=heads,
        intermediate_size=draw.choice([8, 20]),
        hidden_act=draw.choice(["gelu_new", "gelu", "relu"]),
        max_position_embeddings=draw.choice([40, 64]),
        type_vocab_size=draw.choice([1, 2, 3]),
        segment_means_seq_len=length,
        num_landmarks=landmarks,
        conv_kernel_size=draw.choice([1, 3, 9]),
        layer_norm_eps=draw.choice([1e-5, 1e-3]),
        num_labels=draw.choice([2, 3]),
        initializer_range=0.3,
        pad_token_id=1,
        **fields,
    )


def drawn_model(seed: int, dtype=torch.float32, name=None, **fields):
    """A model with weights that are not those of the start: biases and LayerNorms too."""
    config = drawn_config(seed, **fields)
    torch.manual_seed(seed)
    model = getattr(transformers, name or CLASSES[seed % 3])(config).eval().to(dtype)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


def drawn_inputs(config, *, masked: bool):
    """Tokens with types of them, and a mask that leaves every row some token."""
    length = landmark_length(config.to_dict()) or 17
    tokens = torch.randint(2, config.vocab_size, (3, length))
    types = torch.randint(0, config.type_vocab_size, (3, length))
    valid = torch.rand(3, length) < 0.6
    valid[:, 0] = True
    return tokens, types, valid if masked else None


def changed(model, **fields):
    for key, value in fields.items():
        setattr(model.config, key, value)
    return model


@pytest.fixture(autouse=True)
def _mask_of_one_row(monkeypatch):
    """Give their landmarks the mask that they can use.

    transformers 5 makes a mask of L rows, which cannot be added to the M rows of kernel 3; before, it had one row.
    """
    module = transformers.models.nystromformer.modeling_nystromformer
    if hasattr(module, "create_bidirectional_mask"):
        make = module.create_bidirectional_mask

        def one_row(**arguments):
            mask = make(**arguments)
            return None if mask is None else mask[:, :, :1]

        monkeypatch.setattr(module, "create_bidirectional_mask", one_row)


def theirs_of(model, tokens, types, valid):
    mask = None if valid is None else valid.long()
    out = model(input_ids=tokens, token_type_ids=types, attention_mask=mask)
    return out.logits if hasattr(out, "logits") else out.last_hidden_state


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("seed", CONFIGURATIONS)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_outputs_are_theirs(seed, masked, dtype, tolerance):
    theirs = drawn_model(seed, dtype)
    inputs = drawn_inputs(theirs.config, masked=masked)
    ours = from_huggingface(theirs)
    with torch.no_grad():
        expected = theirs_of(theirs, *inputs)
        out = ours(inputs[0], inputs[2], inputs[1])
    assert out.dtype == dtype
    scale = expected.abs().max().clamp(min=1)
    assert (out - expected).abs().max() / scale < tolerance


@pytest.mark.parametrize("seed", CONFIGURATIONS)
def test_weights_and_configuration_come_back_to_the_bit(seed):
    theirs = drawn_model(seed, torch.float64 if seed % 2 else torch.float32)
    back = to_huggingface(from_huggingface(theirs))
    assert type(back) is type(theirs)
    for (name, weight), (other, again) in zip(theirs.state_dict().items(), back.state_dict().items(), strict=True):
        assert name == other
        assert weight.equal(again), name
    assert back.config.to_dict() == {**theirs.config.to_dict(), "dtype": back.config.to_dict()["dtype"]}


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("seed", CONFIGURATIONS)
def test_weights_that_changed_here_give_the_same_outputs_there(seed, masked):
    """As after more training of ours."""
    theirs = drawn_model(seed, torch.float64)
    before, ours = theirs_of(theirs, *(inputs := drawn_inputs(theirs.config, masked=masked))), from_huggingface(theirs)
    with torch.no_grad():
        for weight in ours.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
        out, back = ours(inputs[0], inputs[2], inputs[1]), theirs_of(to_huggingface(ours).eval(), *inputs)
    assert (back - out).abs().max() / out.abs().max().clamp(min=1) < 1e-12
    assert (out - before).abs().max() > 1e-3


@pytest.mark.parametrize("seed", WITH_GRADIENTS)
def test_gradients_are_theirs(seed):
    theirs = drawn_model(seed, torch.float64)
    tokens, types, valid = drawn_inputs(theirs.config, masked=True)
    ours = from_huggingface(theirs)
    weight = torch.randn_like(theirs_of(theirs, tokens, types, valid))
    (theirs_of(theirs, tokens, types, valid) * weight).sum().backward()
    (ours(tokens, valid, types) * weight).sum().backward()
    gradients = {name: parameter.grad for name, parameter in ours.named_parameters()}
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
    for name, expected in from_huggingface(theirs).named_parameters():
        mine = torch.zeros_like(expected) if gradients[name] is None else gradients[name]
        torch.testing.assert_close(mine, expected, rtol=1e-9, atol=1e-10, msg=lambda said, name=name: f"{name}: {said}")
    assert any(gradient is not None and gradient.abs().max() > 1e-3 for gradient in gradients.values())


def test_the_page_says_what_is_compared():
    page = " ".join((ROOT / "docs/huggingface.md").read_text().split())
    assert f"On {len(CONFIGURATIONS)} random configurations, with and without masks, the outputs agree" in page
    assert f"on {len(WITH_GRADIENTS)} of them, with masks, the gradients agree to 1e-9 in float64" in page


def test_their_landmarks_are_of_one_length_and_ours_of_any():
    """As docs/huggingface.md says; a batch of the right number of tokens in all is no error there, but no answer."""
    page = " ".join((ROOT / "docs/huggingface.md").read_text().split())
    assert "exactly `segment_means_seq_len // num_landmarks * num_landmarks` tokens" in page
    for segmented in (12, 13, 15):
        sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "num_hidden_layers": 1}
        config = transformers.NystromformerConfig(**sizes, segment_means_seq_len=segmented, num_landmarks=4)
        torch.manual_seed(0)
        theirs = transformers.NystromformerModel(config).double().eval()
        ours = from_huggingface(theirs)
        for length in range(1, 17):
            tokens = torch.randint(2, config.vocab_size, (5, length))
            out = ours(tokens, None)
            if length == 12:
                torch.testing.assert_close(out, theirs(tokens).last_hidden_state)
                continue
            with pytest.raises(RuntimeError):
                theirs(tokens)
        halves = torch.randint(2, config.vocab_size, (2, 6))
        other = torch.stack([halves[0], halves[1].flip(0)])
        first, second = (theirs(tokens).last_hidden_state[0] for tokens in (halves, other))
        assert (first - second).abs().max() > 1e-9, "the landmarks of the first example are of the second too"


def test_padding_is_read_as_there():
    """They mask kernel 3 alone: with landmarks, what stands at a padded position changes the output of real tokens."""
    theirs = landmark_model()
    ours = from_huggingface(theirs)
    tokens, types, valid = drawn_inputs(theirs.config, masked=True)
    valid[:, -1] = False
    other = tokens.clone()
    other[:, -1] = (tokens[:, -1] - 1) % theirs.config.vocab_size
    with torch.no_grad():
        first, second = (ours(some, valid, types)[:, 0] for some in (tokens, other))
    assert (first - second).abs().max() > 1e-3


def landmark_model():
    return next(
        model for model in map(drawn_model, range(0, 60, 3)) if (landmark_length(model.config.to_dict()) or 0) > 8
    )


def test_the_start_that_they_cannot_make_is_the_papers_for_each_matrix():
    """With inv_coeff_init_option=true transformers cannot build its own model; the flag there means each matrix's."""
    theirs = landmark_model()
    inputs = drawn_inputs(theirs.config, masked=True)
    for layer in theirs.encoder.layer:
        layer.attention.self.init_option = "exact"
    with pytest.raises(TypeError):
        transformers.NystromformerModel(drawn_config(0, inv_coeff_init_option=True))
    theirs.config.inv_coeff_init_option = True
    with torch.no_grad():
        out = from_huggingface(theirs)(inputs[0], inputs[2], inputs[1])
        assert (out - theirs_of(theirs, *inputs)).abs().max() < 1e-5


def test_training_drops_where_they_drop():
    theirs = drawn_model(2, name="NystromformerForSequenceClassification", hidden_dropout_prob=0.25).train()
    rates = sorted(part.p for part in theirs.modules() if isinstance(part, torch.nn.Dropout))
    ours = from_huggingface(theirs)
    assert ours.training
    mine = sorted(part.p for part in ours.modules() if isinstance(part, torch.nn.Dropout))
    layers = theirs.config.num_hidden_layers
    assert rates.count(0.25) == mine.count(0.25) == 2 * layers + 2  # embedding, each layer twice, head


@pytest.mark.parametrize(
    "change, said",
    [
        ({"hidden_act": "silu"}, "hidden_act='silu'"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"conv_kernel_size": 4}, "conv_kernel_size=4 is not odd"),
    ],
)
def test_what_ours_does_not_have_is_refused(change, said):
    with pytest.raises(UserError, match=said):
        from_huggingface(changed(drawn_model(0), **change))


def test_another_class_is_refused_by_name():
    config = drawn_config(0)
    with pytest.raises(UserError, match="is a NystromformerForTokenClassification; convert one of NystromformerModel"):
        from_huggingface(transformers.NystromformerForTokenClassification(config))


def test_weights_that_do_not_fit_are_named():
    model = drawn_model(0)
    with pytest.raises(UserError, match=r"encoder\.blocks\.\d\.\S+ has nothing, not \("):
        from_huggingface(changed(model, num_hidden_layers=model.config.num_hidden_layers + 1))


def test_layers_that_were_changed_after_a_conversion_are_named():
    ours = from_huggingface(drawn_model(0))
    ours.encoder.blocks[0].feed_forward[3] = torch.nn.Linear(2, 3)
    with pytest.raises(
        UserError, match=r"layers have changed .*encoder\.layer\.0\.output\.dense\.bias has \(3,\), not"
    ):
        to_huggingface(ours)
