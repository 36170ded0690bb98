"""The model of self-pretraining: packed and padded, against a whole output, and back to a classifier."""

import pytest
import torch

from lra import from_config
from lra.model.masked_model import MaskedModel, without_mask
from lra.settings.compose import load_config
from tests.attention.test_contract import CELLS
from tests.model.test_packed import TASKS, batch_of
from tests.pairs import each_and_all


def masked_model(*words):
    """A model in float64 without dropout, of a classifier that is built the same each time."""
    torch.manual_seed(0)
    own = [*words, "size=tiny", "model.dropout=0"]
    if "attention=full" in words:
        own.append("attention.attention_dropout=0")
    cfg = load_config("train", own)
    classifier = from_config.build_model(cfg).double()
    return MaskedModel(classifier, num_targets=from_config.build_spec(cfg).vocab_size).double()


def masked_batch(model, task, protocol):
    tokens, valid = batch_of(task, protocol)
    real = torch.ones_like(tokens, dtype=torch.bool) if valid is None else valid
    masked = (torch.rand(tokens.shape) < 0.3) & real
    masked[..., -1] = False  # CLS pushes it out
    return tokens, valid, masked


def logits_and_gradients(model, inputs, valid, packed):
    model.packed = packed
    torch.manual_seed(0)  # Reformer draws its rotations at each call
    logits = model(inputs, valid)
    return logits, torch.autograd.grad(logits.square().sum(), list(model.parameters()), materialize_grads=True)


@pytest.mark.some_fast(4)
@pytest.mark.some_in_ci(20)
@pytest.mark.parametrize("cell, task", each_and_all(CELLS, [*TASKS]))
def test_packed_equals_padded(cell, task):
    attention, protocol = cell
    model = masked_model(f"task={task}", f"attention={attention}", f"protocol={protocol}")
    tokens, valid, masked = masked_batch(model, task, protocol)
    inputs = model.mask(tokens, masked)
    packed, padded = (logits_and_gradients(model, inputs, valid, form) for form in (True, False))
    assert packed[0].shape == (masked.sum(), model.mask_id)
    torch.testing.assert_close(packed[0], padded[0], rtol=1e-9, atol=1e-10)
    for one, other in zip(packed[1], padded[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_logits_are_the_heads_at_the_hidden_positions_of_the_whole_output(task):
    """The reference: encode everything, apply the head everywhere, then look at what is masked, one by one."""
    model = masked_model(f"task={task}", "attention=full", "protocol=clean").eval()
    tokens, valid, masked = masked_batch(model, task, "clean")
    inputs = model.mask(tokens, masked)
    flat = None if valid is None else valid.flatten(0, 1)
    everywhere = model.head(model.encoder(inputs.flatten(0, 1), flat)).unflatten(0, tokens.shape[:2])
    expected = torch.stack([everywhere[tuple(place)] for place in masked.nonzero().tolist()])
    torch.testing.assert_close(model(inputs, valid), expected, rtol=1e-9, atol=1e-10)


def test_batch_wide_constants_are_those_of_the_classifiers_groups():
    """Under protocol=paper Nyström's inverse begins with a maximum over the batch, the two documents apart."""
    model = masked_model("task=retrieval", "attention=nystrom", "protocol=paper").eval()
    tokens, valid, masked = masked_batch(model, "retrieval", "paper")
    inputs = model.mask(tokens, masked)
    at_all = torch.zeros(*masked.shape, model.mask_id, dtype=torch.float64)
    for side in range(2):
        one = slice(side, side + 1)
        at_all[:, one][masked[:, one]] = model(inputs[:, one], valid[:, one])
    torch.testing.assert_close(model(inputs, valid), at_all[masked], rtol=1e-9, atol=1e-10)


def test_what_is_hidden_cannot_be_seen():
    for words in (["task=listops"], ["task=image", "protocol=s4"]):
        model = masked_model(*words, "attention=full").eval()
        one, other = torch.rand(2, 3, 1, 256, dtype=torch.float64)
        if model.mask_id is not None:
            one, other = (1 + 9 * one).long(), (1 + 9 * other).long()
        masked = torch.rand(3, 1, 256) < 0.5
        other = torch.where(masked, other, one)
        assert not one.equal(other)
        assert model(model.mask(one, masked), None).equal(model(model.mask(other, masked), None))


def test_real_values_have_a_channel_for_what_is_masked():
    model = masked_model("task=image", "attention=full", "protocol=s4")
    values, masked = torch.randn(2, 1, 256, dtype=torch.float64), torch.rand(2, 1, 256) < 0.5
    inputs = model.mask(values, masked)
    assert inputs.shape == (2, 1, 256, 2)
    assert inputs[..., 0].equal(values * ~masked)
    assert inputs[..., 1].equal(masked.double())


@pytest.mark.parametrize("words", [["task=listops", "protocol=paper"], ["task=image", "protocol=s4"]])
def test_a_classifier_takes_the_encoders_weights_without_what_stands_for_hidden_tokens(words):
    cfg = load_config("train", [*words, "size=tiny"])
    torch.manual_seed(0)
    classifier = from_config.build_model(cfg)
    before = {name: weight.clone() for name, weight in classifier.encoder.state_dict().items()}
    pretrained = MaskedModel(classifier, num_targets=5)
    other = from_config.build_model(cfg)
    other.encoder.load_state_dict(without_mask(pretrained.state_dict()))
    for name, weight in other.encoder.state_dict().items():
        assert weight.equal(before[name]), name
