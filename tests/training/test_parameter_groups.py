"""A mixer's own groups of parameters: before the recipe's, with rates as fractions of the recipe's."""

from functools import partial

import pytest
import torch
from torch import nn

from lra import from_config
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings
from lra.training.optimizer import group_parameters
from lra.types import UserError

ADAMW = partial(torch.optim.AdamW, lr=1e-4, weight_decay=0.1)


def module_of(*words: str):
    cfg = load_config("train", ["size=tiny", *words])
    return from_config.build_module(cfg)


def names_of(group, model):
    known = {id(parameter): name for name, parameter in model.named_parameters()}
    return sorted(known[id(parameter)].split(".mixer.")[-1] for parameter in group["params"])


@pytest.mark.parametrize("words, more", [((), []), (("mixer.input=learned",), ["b_DNZ"])])
def test_s4ds_dynamics_have_no_decay_and_a_fraction_of_the_rate(words, more):
    module = module_of("mixer=s4d", "recipe.optimizer.weight_decay=0.05", "recipe.optimizer.lr=0.004", *words)
    rest, dynamics = module.make_optimizer().param_groups
    assert (rest["lr"], rest["weight_decay"]) == (0.004, 0.05)
    assert (dynamics["lr"], dynamics["weight_decay"]) == (pytest.approx(0.001), 0.0)
    assert set(names_of(dynamics, module.model)) == {"log_step_D", "log_decay_DN", "frequency_DN", *more}
    assert len(rest["params"]) + len(dynamics["params"]) == len(list(module.model.parameters()))


def test_the_schedule_has_a_peak_for_each_group():
    optimizer = module_of("mixer=s4d").configure_optimizers()["optimizer"]
    assert [group["max_lr"] for group in optimizer.param_groups] == pytest.approx([1e-4, 0.25e-4])


def test_the_mixers_group_takes_first_and_the_recipes_keeps_its_name():
    group = '+recipe.parameter_groups.dynamics={match: "mixer", weight_decay: 0.5}'
    module = module_of("mixer=s4d", group)
    rest, of_mixer, of_recipe = module.make_optimizer().param_groups
    assert (of_mixer["weight_decay"], of_recipe["weight_decay"]) == (0.0, 0.5)
    assert "c_2DNZ" in names_of(of_recipe, module.model)
    assert "log_step_D" not in names_of(of_recipe, module.model)
    assert not any("mixer." in name for name in names_of(rest, module.model))


def test_the_groups_are_part_of_the_records_settings_and_can_be_changed():
    settings = hashed_settings(load_config("train", ["mixer=s4d", "mixer.parameter_groups.dynamics.lr_fraction=1"]))
    assert settings["mixer"]["parameter_groups"]["dynamics"]["lr_fraction"] == 1
    assert len(module_of("mixer=s4d", "~mixer.parameter_groups.dynamics").make_optimizer().param_groups) == 1


def test_runs_of_before_there_were_groups_are_built():
    cfg = load_config("train", ["size=tiny"])
    recipe = cfg.plain("recipe")
    del recipe["parameter_groups"]
    assert len(from_config.build_module(cfg.with_group("recipe", recipe)).make_optimizer().param_groups) == 1


@pytest.mark.parametrize("fraction", [0, -1, "half", True, float("inf")])
def test_what_is_no_fraction_is_refused(fraction):
    with pytest.raises(UserError, match=rf"mine.lr_fraction={fraction} "):
        group_parameters(nn.Linear(2, 2), ADAMW, {"mine": {"match": "bias", "lr_fraction": fraction}})


@pytest.mark.parametrize("group, said", [({"match": "("}, r"mine.match=\("), ("x", "mine ")])
def test_what_names_no_parameters_is_refused(group, said):
    with pytest.raises(UserError, match=said):
        group_parameters(nn.Linear(2, 2), ADAMW, {"mine": group})


def test_a_rate_and_a_fraction_of_one_are_refused_together():
    with pytest.raises(UserError, match=r"mine .*lr=0.1 .*lr_fraction=0.5"):
        group_parameters(nn.Linear(2, 2), ADAMW, {"mine": {"match": "bias", "lr_fraction": 0.5, "lr": 0.1}})


def test_an_optimizer_without_a_rate_has_no_fraction_of_it():
    class Rateless(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {})

    with pytest.raises(UserError, match=r"recipe.optimizer.lr.* Rateless "):
        group_parameters(nn.Linear(2, 2), Rateless, {"mine": {"match": "bias", "lr_fraction": 0.5}})


@pytest.mark.slow
def test_a_wrong_group_is_named_by_its_setting():
    module = module_of('+recipe.parameter_groups.mine={match: "bais"}')
    with pytest.raises(UserError, match=r"^recipe.parameter_groups.mine.match=bais "):
        module.make_optimizer()
    module = module_of("mixer=s4d", "mixer.parameter_groups.dynamics.match=bais")
    with pytest.raises(UserError, match=r"^mixer.parameter_groups.dynamics.match=bais "):
        module.make_optimizer()
