"""The encoder on real tokens alone equals the encoder on padded batches, for every backend and protocol."""

import pytest
import torch

from lra import from_config
from lra.packed import encoder_forms
from lra.settings.compose import load_config
from tests.attention.test_contract import CELLS
from tests.pairs import each_and_all

TASKS = {"listops": 1, "retrieval": 2, "pathfinder": 1}


def batch_of(task: str, protocol: str):
    """Ragged ends, holes, an empty sequence; nothing masked where the protocol masks nothing."""
    torch.manual_seed(3)
    tokens = torch.randint(1, 16, (5, TASKS[task], 256))
    if task == "pathfinder":
        tokens[torch.rand(tokens.shape) < 0.6] = 0
        masks = load_config("train", [f"task={task}", f"protocol={protocol}"]).task.mask_zero
        return tokens, tokens != 0 if masks else None
    ends = torch.tensor([256, 200, 70, 30, 0])[:, None, None].expand(-1, TASKS[task], -1)
    tokens[torch.arange(256) >= ends] = 0
    return tokens, tokens != 0


def results(model, packed: bool, tokens, valid):
    torch.manual_seed(0)  # Reformer draws its rotations at each call
    logits = model(tokens, valid, packed=packed)
    grads = torch.autograd.grad(logits.square().sum(), list(model.parameters()), materialize_grads=True)
    return logits, grads


@pytest.mark.some_fast(5)
@pytest.mark.some_in_ci(20)
@pytest.mark.parametrize("cell, task", each_and_all(CELLS, [*TASKS]))
def test_packed_equals_padded(cell, task):
    attention, protocol = cell
    words = [f"task={task}", f"attention={attention}", f"protocol={protocol}", "size=tiny", "model.dropout=0"]
    if attention == "full":
        words.append("attention.attention_dropout=0")
    model = from_config.build_model(load_config("train", words)).double()
    for parameter in model.parameters():  # gains other than 1 and shifts other than 0
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    tokens, valid = batch_of(task, protocol)
    packed, padded = (results(model, form, tokens, valid) for form in (True, False))
    torch.testing.assert_close(packed[0], padded[0], rtol=1e-9, atol=1e-10)
    for one, other in zip(packed[1], padded[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


def test_on_a_cpu_the_real_tokens_alone_are_computed(monkeypatch):
    model = from_config.build_model(load_config("train", ["size=tiny", "model.num_layers=1"]))
    seen = []
    monkeypatch.setattr(encoder_forms, "transform_packed", lambda block, x, packing, masks: seen.append(x.shape) or x)
    tokens, valid = batch_of("listops", "paper")
    model(tokens, valid)
    assert seen == [(256 + 200 + 70 + 30, 64)]


def test_dropout_repeats_with_the_generator_and_stops_in_evaluation():
    model = from_config.build_model(load_config("train", ["size=tiny"])).train()
    tokens, valid = batch_of("listops", "paper")

    def logits(seed):
        torch.manual_seed(seed)
        return model(tokens, valid)

    assert logits(1).equal(logits(1))
    assert not logits(1).allclose(logits(2), atol=1e-4)
    model.eval()
    assert logits(1).equal(logits(2))
