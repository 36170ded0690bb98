"""Typed configurations: fields with types, changed copies, and what an older stored one lacks."""

import pytest

import lra
from lra.base.option_types import Seed
from lra.settings.command_options import COMMANDS, Report, own_options
from lra.settings.compose import load_config
from lra.settings.run_config import Config, RunConfig, part
from lra.settings.which_run import config_hash


def test_fields_have_the_values_of_the_files_and_those_of_classes_too():
    cfg = lra.compose("task=text", "attention.num_landmarks=32")
    assert (cfg.task.name, cfg.recipe.steps, cfg.trainer.max_steps) == ("text", 20_000, None)
    assert (cfg.attention.num_landmarks, cfg.recipe.optimizer.lr, cfg.task.spec.seq_len) == (32, 1e-4, 4096)
    assert cfg.recipe.schedule == cfg.plain("recipe")["schedule"]
    with pytest.raises(AttributeError):
        cfg.recipe.step  # noqa: B018 - a type checker says so too


def test_a_changed_copy_has_what_refers_to_the_changed_and_the_first_stays():
    cfg = load_config("train", ["size=tiny"])
    other = cfg.changed({"recipe.steps": 7, "attention.num_landmarks": 3})
    assert (other.recipe.steps, other.recipe.schedule.steps, other.attention.num_landmarks) == (7, 7, 3)
    assert (cfg.recipe.steps, cfg.recipe.schedule.steps) == (20, 20)
    assert config_hash(other) == config_hash(
        load_config("train", ["size=tiny", "recipe.steps=7", "attention.num_landmarks=3"])
    )


@pytest.mark.parametrize(
    "set_it", [lambda cfg: setattr(cfg, "seed", 3), lambda cfg: setattr(cfg.attention, "pinv", "exact")]
)
def test_nothing_is_changed_in_place(set_it):
    with pytest.raises(AttributeError, match=r"cfg\.changed"):
        set_it(load_config("train"))


def test_resolved_ones_no_longer_refer():
    cfg = load_config("train", ["size=tiny"]).resolved().changed({"recipe.steps": 7})
    assert (cfg.recipe.steps, cfg.recipe.schedule.steps) == (7, 20)


def test_another_process_reads_the_same_configuration():
    cfg = load_config("train", ["size=tiny", "mixer=s4d"])
    assert RunConfig.from_text(cfg.as_text()).all_plain() == cfg.all_plain()


def test_a_run_of_before_an_option_came_has_it_as_it_was():
    cfg = load_config("train", ["size=tiny"])
    lacks = ("cuda_graph", "num_nodes", "dev_batch_size", "data_on_device", "fused_optimizer")
    older = cfg.with_group("trainer", {key: value for key, value in cfg.plain("trainer").items() if key not in lacks})
    trainer = older.trainer
    assert [getattr(trainer, name) for name in lacks] == [False, 1, None, False, False]
    assert config_hash(older) == config_hash(cfg)


def test_a_command_sees_its_own_options():
    asked = Report.view(load_config("report", ["run_group=mine", "samples=0"]))
    assert (asked.run_group, asked.samples, asked.out, asked.reference) == ("mine", 0, None, "paper")


class Mine(Config):
    seed: str = part()


def test_an_option_of_several_commands_has_one_type():
    assert own_options(COMMANDS)["seed"] == Seed
    with pytest.raises(AssertionError, match="seed of Mine"):
        own_options((*COMMANDS, Mine))
