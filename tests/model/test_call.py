"""A model is called with a batch, or with inputs and their mask: the same numbers, also compiled and in torch.func."""

import pytest
import torch
from torch.func import functional_call

import lra
from lra.types import Batch

LABELS = torch.tensor([3, 1])


def model_and_batch(*overrides: str, masked: bool = True):
    cfg = lra.compose("task=listops", "attention=nystrom", "size=tiny", "model.num_layers=1", *overrides)
    tokens = torch.randint(1, 16, (2, 1, 256))
    tokens[0, :, 100:] = 0
    return lra.build_model(cfg).eval(), Batch(tokens, tokens != 0 if masked else None, LABELS)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("packed", ["true", "false"])
def test_a_batch_is_its_tokens_and_its_mask(packed, masked):
    model, batch = model_and_batch("protocol=clean", f"model.packed={packed}", masked=masked)
    assert torch.equal(model(batch), model(batch.tokens, batch.valid))


def test_a_batch_in_torch_func():
    model, batch = model_and_batch()
    weights = dict(model.named_parameters())
    assert torch.equal(functional_call(model, weights, (batch,)), functional_call(model, weights, tuple(batch[:2])))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_compiled_model_takes_a_batch_in_one_graph():
    torch._dynamo.reset()
    model, batch = model_and_batch("model.packed=false")
    plain = model(batch.tokens, batch.valid)
    model.compile(fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(model(batch), plain, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model(batch.tokens, batch.valid), plain, rtol=1e-4, atol=1e-5)
    torch._dynamo.reset()


def test_a_mask_is_neither_forgotten_nor_given_twice():
    model, batch = model_and_batch()
    with pytest.raises(TypeError):
        model(batch.tokens)
    with pytest.raises(TypeError):
        model(batch, batch.valid)
