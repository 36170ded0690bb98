"""compile=true: one graph without a break for every task and attention, the same numbers as without."""

from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lra import from_config
from lra.settings.compose import load_config
from tests.attention.test_contract import NAMES
from tests.pairs import each_once

TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "pathx")


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def gradients(model, batch, *, mixed=False):
    torch.manual_seed(0)  # Reformer draws its rotations at each call
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
        logits = model(*batch)
    loss = cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
    return logits, torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)


def marked(task: str, attention: str) -> object:
    """A compilation takes seconds: two of the grid are fast, and the slow ones have each task and each attention."""
    if (task, attention) in (("listops", "nystrom"), ("image", "full")):
        return pytest.param(task, attention)
    rest = [] if (task, attention) in each_once(TASKS, NAMES) else [pytest.mark.exhaustive]
    return pytest.param(task, attention, marks=[pytest.mark.slow, *rest])


def model_and_batch(task: str, attention: str) -> tuple[nn.Module, tuple[Tensor, Tensor | None]]:
    words = [f"task={task}", f"attention={attention}", "size=tiny", "model.dropout=0", "protocol=clean"]
    words += ["attention.attention_dropout=0"] if attention == "full" else []
    cfg = load_config("train", [*words, "model.num_layers=1"])
    spec, model = from_config.build_spec(cfg), from_config.build_model(cfg).train()
    tokens = torch.randint(1, 16, (2, spec.num_sequences, spec.seq_len))
    tokens[0, :, 100:] = 0
    return model, (tokens, tokens != 0 if cfg.task.mask_zero else None)


@pytest.mark.slow
@pytest.mark.parametrize("task, attention", [marked(*pair) for pair in product(TASKS, NAMES)])
def test_a_step_is_one_graph_with_the_same_numbers(task, attention):
    """The compiler's front end decides about breaks; what it hands on runs as it is, without a C++ compiler."""
    model, batch = model_and_batch(task, attention)
    plain = gradients(model, batch)
    model.compile(fullgraph=True, backend="aot_eager")
    compiled = gradients(model, batch)
    torch.testing.assert_close(compiled[0], plain[0], rtol=1e-4, atol=1e-5)
    for one, other in zip(compiled[1], plain[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_step_in_mixed_precision_is_one_graph_too():
    """Nyström attention alone has an operator of ours with its own gradient when it is compiled."""
    model, batch = model_and_batch("listops", "nystrom")
    plain = gradients(model, batch, mixed=True)
    model.compile(fullgraph=True, backend="aot_eager")
    compiled = gradients(model, batch, mixed=True)
    of_all, plain_of_all = (torch.cat([x.flatten() for x in of]) for of in (compiled[1], plain[1]))
    assert (of_all - plain_of_all).norm() < 0.02 * plain_of_all.norm()


def test_the_setting_reaches_the_model(monkeypatch):
    asked = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **how: asked.append(how))
    for words in ([], ["compile=true"]):
        cfg = load_config("train", ["size=tiny", *words])
        from_config.build_module(cfg)
    assert len(asked) == 1, "off by default"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_compiled_run_trains(tmp_path):
    """With the real compiler, through the command."""
    from lra.cli import main

    words = ["size=tiny", "compile=true", "logger=csv", f"paths.runs={tmp_path}/runs", f"paths.data={tmp_path}/data"]
    assert main(["train", "attention=nystrom", "recipe.steps=4", "recipe.eval_every=2", *words]) == 0
