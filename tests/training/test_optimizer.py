"""The optimizer's groups of parameters, the rate that is logged, the precision of the logits."""

from functools import partial

import pytest
import torch
from torch import nn

from lra import from_config
from lra.cli import main
from lra.settings.compose import load_config
from lra.training.curves import read_curves
from lra.training.optimizer import group_parameters
from lra.training.schedule import one_cycle
from lra.types import Batch, UserError

ADAMW = partial(torch.optim.AdamW, lr=1e-4, weight_decay=0.1)


def module_of(*words: str):
    cfg = load_config("train", ["size=tiny", *words])
    return from_config.build_module(cfg)


def test_without_groups_the_optimizer_is_torchs_own_over_all_parameters_in_order():
    module = module_of()
    (group,) = module.make_optimizer().param_groups
    assert [id(p) for p in group["params"]] == [id(p) for p in module.model.parameters()]


def test_groups_take_what_they_match_first_and_leave_the_rest():
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    groups = {"biases": {"match": "bias$", "weight_decay": 0.0}, "norm": {"match": "^1", "lr": 1e-3}}
    optimizer = group_parameters(model, ADAMW, groups)
    found = [(len(g["params"]), g["weight_decay"], g["lr"]) for g in optimizer.param_groups]
    assert found == [(1, 0.1, 1e-4), (2, 0.0, 1e-4), (1, 0.1, 1e-3)]
    one_cycle(optimizer, steps=10, warmup_fraction=0.5)
    assert [g["lr"] for g in optimizer.param_groups] == pytest.approx([4e-6, 4e-6, 4e-5]), "each from its own peak"


def test_a_recipe_makes_groups():
    module = module_of('+recipe.parameter_groups.biases={match: "bias$", weight_decay: 0.5}')
    rest, biases = module.make_optimizer().param_groups
    assert (rest["weight_decay"], biases["weight_decay"]) == (0.0, 0.5)
    assert len(rest["params"]) + len(biases["params"]) == len(list(module.model.parameters()))


@pytest.mark.parametrize(
    "group, word",
    [
        ({"match": "bais"}, "match=bais"),
        ({"match": "bias", "weight_dekay": 0}, "weight_dekay .*AdamW"),
        ({"weight_decay": 0}, "mine "),
    ],
)
def test_a_wrong_group_is_refused(group, word):
    with pytest.raises(UserError, match=word):
        group_parameters(nn.Linear(2, 2), ADAMW, {"mine": group})


def test_estimates_use_the_recipes_optimizer(home, monkeypatch):
    from lra.tables.grid.estimate import measure_here

    steps = []
    monkeypatch.setattr(torch.optim.SGD, "step", lambda self, *_: steps.append(self))
    words = ["size=tiny", "~recipe.optimizer.betas", "~recipe.optimizer.eps"]
    words.append("recipe.optimizer._target_=torch.optim.SGD")
    assert measure_here(load_config("train", words)).step_seconds > 0
    assert steps


@pytest.mark.slow
def test_the_logged_rate_is_the_one_that_the_step_was_taken_with(home):
    words = ("train", "size=tiny", "recipe.steps=6", "recipe.eval_every=6", "callbacks.log_every_steps=1", "logger=csv")
    assert main([*words, "trainer.accumulate_grad_batches=2"]) == 0
    (path,) = home.rglob("metrics.csv")
    logged = [row["learning_rate"] for row in read_curves(path) if "learning_rate" in row]
    optimizer = torch.optim.AdamW([nn.Parameter(torch.zeros(1))], lr=1e-4)
    schedule = one_cycle(optimizer, steps=6, warmup_fraction=0.2)
    expected = []
    for _ in range(6):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert logged == pytest.approx(expected)
    assert min(logged) > 0


@pytest.mark.parametrize("inside, outside", [(torch.float64, torch.float64), (torch.bfloat16, torch.float32)])
def test_logits_are_never_less_exact_than_the_model(inside, outside):
    module = module_of()
    module.model.forward = lambda tokens, valid: torch.zeros(1, 10, dtype=inside)
    assert module(Batch(torch.ones(1, 1, 4), None, torch.zeros(1))).dtype == outside
