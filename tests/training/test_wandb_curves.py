"""The curves in W&B: no point twice, each at its step; what W&B had not written when it was killed is missing."""

import json
import shutil
from types import SimpleNamespace

import pytest
import torch
from pytorch_lightning.utilities import rank_zero_only

from lra.cli import main
from lra.run import Run
from lra.training import progress
from lra.training.curves import read_curves
from lra.training.progress import Telemetry
from tests.training.offline_run import offline_runs

# At this rate nothing is learned: all dev passes are equal, and the first is the best.
WORDS = ("train", "size=tiny", "recipe.steps=6", "recipe.eval_every=2", "recipe.optimizer.lr=1e-12")
TRAIN = (*WORDS, "callbacks.log_every_steps=1", "model.num_layers=1")
EACH_STEP = (
    *("learning_rate", "peak_memory_bytes", "steps_per_second", "tokens_per_second"),
    *("train/accuracy", "train/loss"),
)
DEV = ("dev/accuracy", "dev/loss")
TRAINED = [(step, name) for step in range(1, 7) for name in (*EACH_STEP, *(DEV if step % 2 == 0 else ()))]
TESTED = [(2, "test/accuracy"), (2, "test/loss")]


@pytest.mark.slow
def test_the_axis_of_the_curves_is_the_step_and_a_test_is_at_the_step_that_was_tested(home):
    assert main(TRAIN) == 0
    (offline,) = offline_runs(home)
    axes = {metric.name or metric.glob_name: metric.step_metric for metric in offline.of_type("metric")}
    assert axes == {"trainer/global_step": "", "*": "trainer/global_step"}
    assert offline.points == TRAINED + TESTED
    (record,) = home.rglob("result.json")
    assert json.loads(record.read_text())["outcome"]["best_step"] == 2
    rows = read_curves(record.parent / "metrics.csv")
    assert [row["step"] for row in rows if "test/accuracy" in row] == [2]
    assert [row for row in offline.history if "learning_rate" in row][-1]["learning_rate"] >= 0


@pytest.mark.slow
@pytest.mark.parametrize("lost", [[], [(2, name) for name in DEV]], ids=["W&B has all", "W&B was killed too"])
def test_a_resumed_run_has_no_point_twice_and_never_goes_back(home, tmp_path, lost):
    """As after kills at steps 5 and 3, before which the last checkpoint was that of step 2.

    A kill of W&B's own process takes the end of its file: here of the first one, with the dev pass at step 2.
    """
    assert main([*TRAIN, "trainer.max_steps=2"]) == 0
    (last,) = home.rglob("last.ckpt")
    kept = shutil.copy(last, tmp_path)
    (first,) = offline_runs(home)
    if lost:
        content = first.path.read_bytes()
        first.path.write_bytes(content[: content.index(b"dev/accuracy")])
    for step in (5, 3):
        assert main([*TRAIN, f"trainer.max_steps={step}"]) == 0
        shutil.copy(kept, last)
    assert main(TRAIN) == 0
    fragments = offline_runs(home, cut=[first.path] if lost else [])
    assert len(fragments) == 4
    assert len({fragment.run.run_id for fragment in fragments}) == 1
    sent = [point for fragment in fragments for point in fragment.points]
    assert sent == [point for point in TRAINED + TESTED if point not in lost]
    rows = read_curves(last.parent / "metrics.csv")
    assert [row["step"] for row in rows if "train/loss" in row] == [1, 2, 3, 4, 5, 6]
    assert [row["step"] for row in rows if "dev/loss" in row] == [2, 4, 6]


@pytest.mark.slow
def test_what_was_trained_without_wandb_is_sent_later(home, monkeypatch):
    """Also when another launcher has left its RANK, with which Lightning would begin no W&B run."""
    assert main([*TRAIN, "trainer.max_steps=3", "logger=csv"]) == 0
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    assert main(TRAIN) == 0
    (offline,) = offline_runs(home)
    assert offline.points == TRAINED + TESTED


@pytest.mark.slow
def test_a_disabled_run_leaves_nothing_of_wandb(home, capsys):
    assert main([*TRAIN, "trainer.max_steps=2", "logger.wandb.mode=disabled"]) == 0
    assert list(home.rglob("metrics.csv"))
    assert not [path for path in home.parent.rglob("*") if "wandb" in path.name]
    assert main([*TRAIN, "logger.wandb.mode=disabled"]) == 0
    (record,) = home.rglob("result.json")
    assert json.loads(record.read_text())["provenance"]["wandb_id"] is None


def test_a_run_that_was_tested_is_as_far_as_its_last_step(tmp_path):
    """The row of the test comes last, and is that of an earlier step."""
    (tmp_path / "metrics.csv").write_text("step,train/loss,test/loss\n10,1.0,\n20,1.0,\n10,,1.0\n")
    assert Run(tmp_path).last_step == 20


def test_the_speed_is_that_of_the_training_without_its_dev_passes(monkeypatch):
    """Two steps of 30 tokens in 2 s, and a dev pass of 100 s between them."""
    clock = iter([0.0, 1.0, 101.0, 102.0, 102.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    trainer = SimpleNamespace(
        global_step=1,
        max_steps=2,
        world_size=1,
        loggers=[],
        fit_loop=SimpleNamespace(_should_accumulate=lambda: False),
    )
    module = SimpleNamespace(pop_train_metrics=dict, device=torch.device("cpu"))
    batch = SimpleNamespace(tokens=torch.zeros(3, 10))
    telemetry = Telemetry(every_steps=2, last_step=2)
    telemetry.on_train_start(trainer, module)
    telemetry.on_train_batch_end(trainer, module, None, batch, 0)
    telemetry.on_validation_start(trainer, module)
    telemetry.on_validation_end(trainer, module)
    trainer.global_step = 2
    telemetry.on_train_batch_end(trainer, module, None, batch, 1)
    assert telemetry.latest["steps_per_second"] == 1.0
    assert telemetry.latest["tokens_per_second"] == 30.0


def test_a_rate_that_was_rounded_below_zero_is_logged_as_zero():
    logged = []
    logger = SimpleNamespace(log_metrics=lambda metrics, step: logged.append(metrics["learning_rate"]))
    trainer = SimpleNamespace(
        global_step=1,
        max_steps=1,
        world_size=1,
        loggers=[logger],
        fit_loop=SimpleNamespace(_should_accumulate=lambda: False),
    )
    module = SimpleNamespace(pop_train_metrics=dict, device=torch.device("cpu"))
    batch = SimpleNamespace(tokens=torch.zeros(1))
    for rate in (1e-4, -1e-24):
        optimizer = SimpleNamespace(param_groups=[{"lr": rate}])
        telemetry = Telemetry(every_steps=1, last_step=1)
        telemetry.on_train_start(trainer, module)
        telemetry.on_before_optimizer_step(trainer, module, optimizer)
        telemetry.on_train_batch_end(trainer, module, None, batch, 0)
        assert optimizer.param_groups[0]["lr"] == rate, "the rate in use stays"
    assert logged == [pytest.approx(1e-4), 0.0]
