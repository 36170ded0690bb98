"""Every mixer but attention on every task: it builds, every parameter learns, packed equals padded, one graph."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from lra import from_config
from lra.settings.compose import load_config
from lra.settings.run_config import ATTENTION
from tests.mixers.test_contract import NAMES
from tests.pairs import each_and_all
from tests.test_conf import TASKS

MIXERS = [name for name in NAMES if name != ATTENTION]


def model_and_batch(task: str, mixer: str, protocol: str, *words: str):
    cfg = load_config(
        "train", [f"task={task}", f"mixer={mixer}", f"protocol={protocol}", "size=tiny", "model.dropout=0", *words]
    )
    spec = from_config.build_spec(cfg)
    tokens = torch.randint(1, min(16, spec.vocab_size), (3, spec.num_sequences, spec.seq_len))
    tokens[0, :, 100:] = 0
    tokens[1, :, ::3] = 0
    return from_config.build_model(cfg), tokens, tokens != 0 if cfg.task.mask_zero else None


@pytest.mark.some_fast(6)
@pytest.mark.some_in_ci(12)
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("task, protocol", each_and_all(TASKS, ["paper", "clean"]))
def test_every_task_builds_and_every_parameter_learns(task, mixer, protocol):
    model, tokens, valid = model_and_batch(task, mixer, protocol)
    cross_entropy(model(tokens, valid), torch.tensor([0, 1, 0])).backward()
    assert not [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]


@pytest.mark.some_fast(3)
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("task", ["listops", "retrieval", "pathfinder"])
def test_the_whole_model_packed_equals_padded(task, mixer):
    model, tokens, valid = model_and_batch(task, mixer, "paper")
    model.double()
    packed, padded = (model(tokens, valid, packed=form) for form in (True, False))
    torch.testing.assert_close(packed, padded, rtol=1e-9, atol=1e-10)
    ours, theirs = (torch.autograd.grad(out.square().sum(), list(model.parameters())) for out in (packed, padded))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mixer", MIXERS)
def test_a_step_is_one_graph_with_the_same_numbers(mixer):
    """As tests/model/test_compile.py has it for attentions: the compiler's front end, without a C++ compiler."""
    torch._dynamo.reset()
    model, tokens, valid = model_and_batch("listops", mixer, "clean", "model.num_layers=1")
    plain = model(tokens, valid, packed=False)
    model.compile(fullgraph=True, backend="aot_eager")
    compiled = model(tokens, valid)
    torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)
    gradients = (torch.autograd.grad(out.square().sum(), list(model.parameters())) for out in (compiled, plain))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
    torch._dynamo.reset()
