"""lra train pretrain=masked: two stages, one run; a row of its own beside runs from scratch."""

import json
import re
import signal

import pytest
import torch

from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, hashed_settings
from lra.training.curves import read_curves
from tests.conftest import lra_here
from tests.disturbance import disturbed
from tests.training.offline_run import offline_runs

WORDS = ("size=tiny", "recipe.steps=4", "recipe.eval_every=2", "recipe.batch_size=4", "logger=csv")
MASKED = ("pretrain=masked", "pretrain.steps=6", "pretrain.eval_every=3")


@pytest.mark.slow
def test_a_run_has_both_stages_in_its_record_and_is_evaluated_to_the_last_digit(home, result_of):
    trained = result_of("train", "attention=full", *WORDS, *MASKED)
    first, folder = trained.record.pretraining, trained.run.folder
    assert first.keys() == {"steps", "best_step", "dev_accuracy", "train_seconds", "flops", "flops_after"}
    assert (first["steps"], first["best_step"] in (3, 6)) == (6, True)
    assert trained.record.steps == 4
    assert trained.record.settings["pretrain"] == {
        **{"name": "masked", "steps": 6, "eval_every": 3, "fraction": 0.1, "span": 1, "loss": "cross_entropy"},
        **{"lr": trained.record.settings["recipe"]["optimizer"]["lr"], "warmup_fraction": 0.2},
    }
    assert {path.name for path in (folder / "pretraining").iterdir()} >= {"best.ckpt", "last.ckpt", "metrics.csv"}
    assert first["flops"] * 4 != first["flops_after"] * 6, "a step of each stage has another head"
    evaluated = result_of("evaluate", f"run={folder}")
    assert evaluated.is_as_recorded
    assert evaluated.pretraining.is_as_recorded
    (passed,) = (row for row in read_curves(folder / "pretraining/metrics.csv") if row["step"] == first["best_step"])
    assert evaluated.pretraining.loss == pytest.approx(passed["dev/loss"], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["task=listops", "attention=nystrom"],
        ["task=image", "protocol=s4", "attention=full", "model.width=16", "model.num_layers=1", "model.norm=layer"],
    ],
)
def test_with_a_rate_of_nearly_nothing_a_run_is_the_run_from_scratch(words, home, result_of):
    """So the weights come back where they were, and the second stage draws what a run without the first draws."""
    scratch = result_of("train", *words, *WORDS)
    pretrained = result_of("train", *words, *WORDS, *MASKED, "pretrain.lr=1e-14")
    weights = [
        torch.load(each.run.folder / "last.ckpt", weights_only=True)["state_dict"] for each in (scratch, pretrained)
    ]
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-4, atol=1e-6, msg=name)
    assert scratch.record.dev_curve == pretrained.record.dev_curve


def pretraining_curve(runs, group):
    (path,) = runs.glob(f"{group}/listops/none/*/seed0/pretraining/metrics.csv")
    names = ("step", "train/loss", "train/accuracy", "dev/loss", "dev/accuracy")
    return [[row[name] for name in names if name in row] for row in read_curves(path)]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_parts_and_processes_count_by_their_numbers_of_masked_positions(data_dir, tmp_path):
    """So a step is that of the whole batch, whose loss is the mean over all of its masked positions."""
    more = (*MASKED, "attention=none", "model.dropout=0", "trainer.precision=64-true", "callbacks.log_every_steps=1")
    more += ("pretrain.lr=0.01", "+trainer.gradient_clip_val=0.1", "trainer.accelerator=cpu")
    for group, words in {
        "whole": (),
        "parts": ("trainer.accumulate_grad_batches=2",),
        "both": ("trainer.accumulate_grad_batches=2", "trainer.devices=2"),
    }.items():
        done = lra_here("train", *WORDS, *more, f"run_group={group}", *words, data=data_dir, runs=tmp_path)
        assert done.returncode == 0, done.stderr
    whole = pretraining_curve(tmp_path, "whole")
    for group in ("parts", "both"):
        for row, expected in zip(pretraining_curve(tmp_path, group), whole, strict=True):
            assert row == pytest.approx(expected, rel=1e-6)


VALUES = ("task=image", "protocol=s4", "model.width=16", "model.num_layers=1", "attention=none")


@pytest.mark.slow
def test_the_values_of_image_are_predicted_by_l1_and_the_error_is_that_of_grey_levels(home, result_of):
    trained = result_of("train", *VALUES, *WORDS, *MASKED, "pretrain.steps=30", "pretrain.lr=0.01")
    first, folder = trained.record.pretraining, trained.run.folder
    assert trained.record.settings["pretrain"]["loss"] == "l1"
    evaluated = result_of("evaluate", f"run={folder}").pretraining
    assert evaluated.is_as_recorded
    std = load_config("train", VALUES).task.pixel_std
    assert 1 - evaluated.accuracy == pytest.approx(std * evaluated.loss, rel=1e-5)
    assert 0.5 < first["dev_accuracy"] < 1
    passes = [row["dev/loss"] for row in read_curves(folder / "pretraining/metrics.csv") if "dev/loss" in row]
    assert passes[-1] < passes[0], "it learns"
    assert evaluated.loss == pytest.approx(min(passes), rel=1e-5), "the best weights have the least error"


@pytest.mark.parametrize(
    "words, loss",
    [
        (["task=image", "protocol=s4"], "l1"),
        (["task=image", "protocol=s4", "pretrain.loss=cross_entropy"], "cross_entropy"),
        (["task=pathfinder", "protocol=s4"], "cross_entropy"),
        (["task=pathfinder", "protocol=s4", "pretrain.loss=l1"], "l1"),
        (["task=image"], "cross_entropy"),
        (["task=listops"], "cross_entropy"),
    ],
)
def test_the_loss_is_the_authors_for_each_task(words, loss):
    cfg = load_config("train", [*words, "pretrain=masked"])
    assert hashed_settings(cfg)["pretrain"]["loss"] == loss
    assert "by_l1" not in hashed_settings(cfg)["pretrain"]


def test_tokens_have_no_distance(home, refused):
    assert refused("train", "task=image", "size=tiny", "pretrain=masked", "pretrain.loss=l1").key == "pretrain.loss"


@pytest.mark.slow
def test_it_is_a_row_of_its_own(home, result_of, capsys):
    for more in ((), MASKED):
        result_of("train", "attention=full", "run_group=mine", *WORDS, *more)
    capsys.readouterr()
    assert main(["compare", "show", "run_group=mine", "size=tiny", "format=csv"]) == 0
    names = [line.split(",")[0] for line in capsys.readouterr().out.splitlines() if line.startswith(("full", '"full'))]
    assert len(names) == 2
    assert sum("pretrain" in name for name in names) == 1


@pytest.mark.parametrize("task, fraction", [("listops", 0.1), ("text", 0.15), ("image", 0.5), ("recall", 0.15)])
def test_the_fraction_is_the_authors_for_each_task(task, fraction):
    assert load_config("train", [f"task={task}", "pretrain=masked"]).pretrain.fraction == fraction


def test_without_it_no_hash_moves():
    default, none, masked = (load_config("train", words) for words in ([], ["pretrain=none"], ["pretrain=masked"]))
    assert config_hash(default) == config_hash(none) != config_hash(masked)
    assert "pretrain" not in hashed_settings(default)
    assert "fractions" not in json.dumps(hashed_settings(masked))


@pytest.mark.parametrize("word", ["pretrain.fraction=1.5", "pretrain.span=0", "pretrain.steps=1", "pretrain.rate=1"])
def test_wrong_settings_are_refused(word, home, refused):
    assert refused("train", "size=tiny", "pretrain=masked", word).key == word.partition("=")[0]


@pytest.mark.parametrize("words", [("bench", "step"), ("check",), ("show", "model")])
def test_where_nothing_is_trained_it_has_no_effect(words, home, refused):
    error = refused(*words, "size=tiny", "pretrain=masked")
    assert (error.kind, error.key) == ("no_effect", "pretrain")


@pytest.mark.slow
def test_a_model_of_ones_own_is_refused(home, refused):
    model = "model._target_=tests.model.own_models.AnyGru"
    error = refused("train", model, "size=tiny", "logger=csv", "pretrain=masked")
    assert (error.kind, error.key) == ("no_effect", "pretrain")


@pytest.mark.slow
def test_a_signal_in_the_first_stage_says_which_of_its_steps_is_saved(data_dir, tmp_path):
    runs = tmp_path / "runs"
    long = ("pretrain=masked", "pretrain.steps=2000", "callbacks.checkpoint_every_seconds=0")
    with disturbed("train", *WORDS, *long, data=data_dir, runs=runs) as command:
        command.until(lambda: any(runs.rglob("pretraining/last.ckpt")), 300)
        assert command.end(signal.SIGTERM) == 128 + signal.SIGTERM
        (line,) = [line for line in command.error().splitlines() if line.startswith("lra: ")]
    assert re.search(r"step [0-9,]+ of 2,000 is saved in .*/pretraining\.", line)


@pytest.mark.slow
def test_a_batch_too_large_for_memory_is_said_in_a_line(home, refused, monkeypatch):
    monkeypatch.setattr("lra.model.masked_model.MaskedModel.forward", _no_memory)
    error = refused("train", *WORDS, *MASKED)
    assert (error.kind, error.right) == ("no_memory", "trainer.accumulate_grad_batches=2")


def _no_memory(*_):
    raise MemoryError


@pytest.mark.slow
def test_the_curves_of_both_stages_are_in_one_wandb_run_each_point_once(home, result_of):
    words = ("train", "attention=none", *WORDS[:-1], *MASKED, "callbacks.log_every_steps=1")
    assert result_of(*words, "trainer.max_steps=2") is None
    result_of(*words)
    offline = offline_runs(home)
    assert len({each.run.run_id for each in offline}) == 1
    points = [
        (row["trainer/global_step"], name)
        for each in offline
        for row in each.history
        for name in row
        if name.endswith(("train/loss", "dev/loss"))
    ]
    first = {(step, "pretraining/train/loss") for step in range(1, 7)} | {(3, "pretraining/dev/loss")}
    second = {(step, "train/loss") for step in range(1, 5)} | {(step, "dev/loss") for step in (2, 4)}
    assert sorted(points) == sorted(first | {(6, "pretraining/dev/loss")} | second)
