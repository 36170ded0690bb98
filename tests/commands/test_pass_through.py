"""What Hydra, Lightning and torch offer passes through: it takes effect and moves the hash, or one line refuses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from pytorch_lightning.callbacks import Timer

from lra.cli import main
from lra.config import config_hash, load_config
from lra.sweeps.grid import make_cells
from lra.training.checkpoints import read_checkpoint
from lra.training.curves import read_curves
from tests.training.test_training import same

TINY = ["size=tiny", "logger=csv", "attention=none", "recipe.eval_every=2", "trainer.threads=1"]
SGD = ["recipe.optimizer._target_=torch.optim.SGD", "~recipe.optimizer.betas", "~recipe.optimizer.eps"]


def train(*words: str) -> Path:
    """Train a run of a few steps, and return its folder."""
    assert main(["train", *TINY, *words]) == 0
    return max(Path("runs").rglob("result.json"), key=lambda path: path.stat().st_mtime_ns).parent


def record(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def weights(folder: Path, file: str = "last.ckpt") -> dict[str, torch.Tensor]:
    return {name: w for name, w in read_checkpoint(folder / file)["state_dict"].items() if name.startswith("model.")}


@pytest.mark.parametrize(
    "word, line",
    [
        ("+foo=1", "+foo=1 adds a setting that nothing reads"),
        ("+task.data.foo=1", "+task.data.foo=1 adds a setting that nothing reads"),
        ("+trainer.foo=1", "trainer.foo is no setting; of Lightning's Trainer there are +trainer.gradient_clip_val"),
        ("+trainer.max_epochs=3", "trainer.max_epochs is set by lra itself; type for example recipe.steps=5000"),
        ("trainer.gradient_clip_val=1", "trainer.gradient_clip_val has no default; to add it type +trainer.gradient"),
        ("+trainer.gradient_clip_val=x", "Lightning's Trainer does not take +trainer.gradient_clip_val=x"),
        ("+callbacks.mine=1", "callbacks.mine names no class, so nothing would be made of it; type for example"),
        ("+logger.mine=1", "logger.mine names no class"),
        ("+callbacks.mine._target_=torch.nn.Identity", "_target_=torch.nn.Identity is no Callback of Lightning's"),
        ("+seed=1", "+seed=1 adds a setting that is there already; to change it type seed=1"),
        ("++seed=x", "++seed=x is not a whole number; the default is seed=0"),
        ("~seed", "~seed takes away a setting that every run needs; to change it type seed=VALUE"),
        ("~logger", "~logger takes away a setting that every run needs"),
        ("~trainer.precision", "~trainer.precision takes away a setting that every run needs"),
        ("~callbacks.log_every_steps", "~callbacks.log_every_steps takes away a setting that every run needs"),
        ("~attention.name", "~attention.name takes away a setting that every run needs"),
        ("~recipe.optimizer.foo", "recipe.optimizer.foo is no setting"),
        ("+model.foo=1", "takes no foo; it takes num_layers"),
        ("+recipe.optimizer.foo=1", "recipe.optimizer._target_=torch.optim.AdamW does not take its settings"),
        ("recipe.optimizer._target_=torch.optim.SGD", "unexpected keyword argument 'betas'; ~recipe.optimizer.KEY"),
        ("~recipe.schedule.steps", "recipe.schedule._target_=lra.training.schedule.one_cycle does not take its"),
        ("callbacks=[ema,nothing]", "callbacks=[ema,nothing] is not known; choose one of default, early_stopping, ema"),
    ],
)
def test_what_has_no_effect_is_refused_in_one_line(word, line, home, capsys):
    assert main(["train", *TINY, "recipe.steps=2", word]) == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    assert "not foreseen" not in err


@pytest.mark.parametrize(
    "words",
    [
        ["+trainer.gradient_clip_val=1"],
        ["+trainer.limit_val_batches=1"],
        ["+trainer.deterministic=true"],
        ["callbacks=early_stopping"],
        ["callbacks=early_stopping", "callbacks.early_stopping.patience=9"],
        ["callbacks=ema"],
        ["callbacks=[early_stopping,ema]"],
        ["+recipe.optimizer.amsgrad=true"],
        [*SGD],
    ],
)
def test_what_may_move_a_number_moves_the_hash(words):
    hashes = {config_hash(load_config("train", chosen)) for chosen in ([], ["callbacks=early_stopping"], words)}
    assert len(hashes) == (2 if words == ["callbacks=early_stopping"] else 3)


@pytest.mark.parametrize("words", [["+trainer.max_time=00:01:00:00"], ["+trainer.detect_anomaly=true"]])
def test_what_moves_no_number_does_not(words):
    assert config_hash(load_config("train", words)) == config_hash(load_config("train"))
    assert config_hash(load_config("train", ["logger=tensorboard"])) == config_hash(load_config("train"))


@pytest.mark.slow
def test_clipping_and_another_optimizer_take_effect(home):
    """Steps of a clipped gradient are as small as the norm allows; SGD has no state that would scale them up again."""
    words = ["recipe.steps=4", *SGD, "recipe.optimizer.lr=1"]
    free, clipped = train(*words), train(*words, "+trainer.gradient_clip_val=1e-9")
    start = weights(train(*words, "recipe.optimizer.lr=1e-30"))
    assert (torch.cat([(w - start[name]).flatten() for name, w in weights(free).items()])).norm() > 1e-3
    assert (torch.cat([(w - start[name]).flatten() for name, w in weights(clipped).items()])).norm() < 1e-6
    assert record(clipped)["settings"]["trainer"]["gradient_clip_val"] == 1e-9
    assert "exp_avg" not in str(read_checkpoint(free / "last.ckpt")["optimizer_states"])


@pytest.mark.slow
def test_another_schedule_by_config_alone(home):
    cosine = ["recipe.schedule._target_=torch.optim.lr_scheduler.CosineAnnealingLR", "~recipe.schedule.steps"]
    cosine += ["~recipe.schedule.warmup_fraction", "+recipe.schedule.T_max=${recipe.steps}"]
    folder = train("recipe.steps=4", *cosine, "recipe.optimizer.lr=1", "callbacks.log_every_steps=1")
    rates = [row["learning_rate"] for row in read_curves(folder / "metrics.csv") if "learning_rate" in row]
    assert rates == pytest.approx([1, 0.854, 0.5, 0.146], abs=1e-3)
    assert main(["evaluate", f"run={folder}"]) == 0


@pytest.mark.slow
def test_early_stopping_ends_a_run_that_has_a_result(home, capsys):
    """With a rate of nearly 0 no dev pass is better than the first, so the second ends the run."""
    words = ["recipe.steps=40", "recipe.optimizer.lr=1e-30", "callbacks=early_stopping"]
    folder = train(*words, "callbacks.early_stopping.patience=1")
    outcome = record(folder)["outcome"]
    assert (outcome["stopped_step"], outcome["best_step"], outcome["steps"]) == (4, 2, 40)
    assert outcome["dev_curve"]["step"] == [2, 4]
    assert main(["evaluate", f"run={folder}"]) == 0
    assert "the same as recorded" in capsys.readouterr().out

    (folder / "result.json").unlink()  # as if a kill had come between training and test
    assert train(*words, "callbacks.early_stopping.patience=1") == folder
    assert record(folder)["outcome"] == outcome


@pytest.mark.slow
def test_the_average_of_the_weights_is_what_is_tested_and_a_resumed_run_ends_the_same(home):
    words = ["recipe.steps=6", "recipe.optimizer.lr=0.1", "callbacks=ema", "callbacks.ema.decay=0.5"]
    whole = train(*words, "run_group=whole")
    assert not same(weights(whole, "best.ckpt"), weights(train(*words[:2]), "best.ckpt"))
    assert main(["train", *TINY, *words, "trainer.max_steps=3"]) == 0
    resumed = train(*words)
    assert same(weights(whole), weights(resumed))
    assert record(whole)["outcome"] == record(resumed)["outcome"]
    assert main(["evaluate", f"run={resumed}"]) == 0


@pytest.mark.slow
def test_a_run_that_max_time_stops_resumes_to_the_same_end(home, capsys, monkeypatch):
    monkeypatch.setattr(Timer, "time_elapsed", lambda timer, *_: 0.0 if timer.start_time() is None else 99.0)
    words = ["recipe.steps=5", "recipe.optimizer.lr=0.1"]
    whole = train(*words, "run_group=whole")
    capsys.readouterr()
    assert main(["train", *TINY, *words, "+trainer.max_time=00:00:01:00"]) == 0
    assert "Stopped at step 1 of 5, as trainer.max_time says" in capsys.readouterr().out
    resumed = train(*words)
    assert same(weights(whole), weights(resumed))
    assert record(whole)["outcome"] == record(resumed)["outcome"]


@pytest.mark.slow
def test_what_was_chosen_can_be_taken_away(home):
    """Without the callback it is the plain run; without W&B it logs to the curve file alone."""
    plain = train("recipe.steps=2")
    words = ["callbacks=early_stopping", "~callbacks.early_stopping", "logger=wandb", "~logger.wandb", "force=true"]
    assert train("recipe.steps=2", *words) == plain
    assert not (plain / "wandb").exists()


def test_limits_of_the_dev_and_test_passes(home):
    folder = train("recipe.steps=2", "+trainer.limit_test_batches=2", "+trainer.limit_val_batches=1")
    assert record(folder)["outcome"]["test_examples"] == 2 * record(folder)["settings"]["recipe"]["batch_size"]
    assert main(["evaluate", f"run={folder}"]) == 0


def test_tensorboard_beside_the_curve_file(home):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = train("recipe.steps=4", "logger=tensorboard", "callbacks.log_every_steps=1")
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == [1, 2, 3, 4]
    assert [event.step for event in events.Scalars("dev/accuracy")] == [2, 4]


def test_a_sweep_over_an_added_setting(home):
    words = ["size=tiny", "task=listops", "attention=none", "seed=0", "+trainer.gradient_clip_val=1,2"]
    cells = make_cells("paper_table", words)
    assert len({cell.folder for cell in cells}) == len(cells) == 2


@pytest.mark.slow
def test_optuna_looks_for_the_best_dev_accuracy(home, capsys):
    words = ["hparams_search=optuna", "hydra.sweeper.n_trials=2", "recipe.steps=2"]
    assert main(["train", "-m", *TINY, *words]) == 0
    accuracies = {
        record(path.parent)["outcome"]["best_dev_accuracy"] for path in Path("runs/search").rglob("result.json")
    }
    (best,) = Path("runs/.sweeps").rglob("optimization_results.yaml")
    assert any(f"best_value: {accuracy}" in best.read_text() for accuracy in accuracies)
    assert len(accuracies) <= 2
