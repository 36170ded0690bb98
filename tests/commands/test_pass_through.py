"""What Hydra, Lightning and torch offer passes through: it takes effect and moves the hash, or one line refuses it."""

import json
import re
from pathlib import Path

import pytest
import torch
from pytorch_lightning.callbacks import Timer

from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.config_dirs import added_config_dirs
from lra.settings.which_run import config_hash, hashed_settings, run_dir
from lra.tables.accuracy_table import accuracy_table
from lra.tables.grid.cell import make_cells
from lra.tables.notes_on_runs import stopped_notes
from lra.training.checkpoints import read_checkpoint, saved_step
from lra.training.curves import read_curves
from tests.conftest import ROOT
from tests.tables.records import make_record, rows_by_name
from tests.training.offline_run import offline_runs
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["+trainer.gradient_clip_val=1"],
        ["+trainer.limit_val_batches=1"],
        ["+trainer.deterministic=true"],
        ["+trainer.sync_batchnorm=true"],
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


@pytest.mark.parametrize(
    "words", [["+trainer.max_time=00:01:00:00"], ["+trainer.detect_anomaly=true", "+trainer.enable_progress_bar=false"]]
)
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
def test_early_stopping_ends_a_run_that_has_a_result(home, result_of):
    """With a rate of nearly 0 no dev pass is better than the first, so the second ends the run."""
    words = ["recipe.steps=40", "recipe.optimizer.lr=1e-30", "callbacks=early_stopping"]
    folder = train(*words, "callbacks.early_stopping.patience=1")
    outcome = record(folder)["outcome"]
    assert (outcome["stopped_step"], outcome["best_step"], outcome["steps"]) == (4, 2, 40)
    assert outcome["dev_curve"]["step"] == [2, 4]
    assert result_of("evaluate", f"run={folder}").is_as_recorded
    (line,) = result_of("show", "runs", "run_group=default").lines
    assert "4 of 40" in line.state
    (made,) = result_of("table", "show", "run_group=default", "size=tiny", "notes=all").tables
    (note,) = stopped_notes([line.record])
    assert note in made.table.notes

    each = ["recipe.steps=40", "recipe.optimizer.lr=1e-30", "callbacks=early_stopping", "recipe.eval_every=1"]
    assert record(train(*each, "callbacks.early_stopping.patience=1"))["outcome"]["stopped_step"] == 2

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
def test_a_run_that_max_time_stops_resumes_to_the_same_end(home, monkeypatch, result_of):
    monkeypatch.setattr(Timer, "time_elapsed", lambda timer, *_: 0.0 if timer.start_time() is None else 99.0)
    words = ["recipe.steps=5", "recipe.optimizer.lr=0.1"]
    whole = train(*words, "run_group=whole")
    assert result_of("train", *TINY, *words, "+trainer.max_time=00:00:01:00") is None
    (stopped,) = home.glob("default/*/*/*/seed0/last.ckpt")
    assert saved_step(stopped) == 1
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


@pytest.mark.slow
def test_limits_of_the_dev_and_test_passes(home, result_of):
    folder = train("recipe.steps=2", "+trainer.limit_test_batches=2", "+trainer.limit_val_batches=1")
    assert record(folder)["outcome"]["test_examples"] == 2 * record(folder)["settings"]["recipe"]["batch_size"]
    assert result_of("evaluate", f"run={folder}").examples == record(folder)["outcome"]["test_examples"]


@pytest.mark.slow
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
    assert len({cell.run for cell in cells}) == len(cells) == 2


PLATEAU = ["recipe.schedule._target_=torch.optim.lr_scheduler.ReduceLROnPlateau", "+recipe.schedule.patience=0"]
PLATEAU += ["+recipe.schedule.threshold=0.5"]
PLATEAU += ["~recipe.schedule.steps", "~recipe.schedule.warmup_fraction"]


@pytest.mark.slow
@pytest.mark.parametrize("mode, metric", [("min", "dev/loss"), ("max", "dev/accuracy")])
def test_a_schedule_that_waits_for_a_plateau_follows_the_dev_passes(mode, metric, home):
    """The rate falls after each dev pass that is not better by half than the best one; a resumed run ends the same."""
    words = ["recipe.steps=8", "recipe.optimizer.lr=1", *PLATEAU, f"+recipe.schedule.mode={mode}"]
    words += ["callbacks.log_every_steps=1"]
    whole = train(*words, "run_group=whole")
    rows = read_curves(whole / "metrics.csv")
    rates = {row["step"]: row["learning_rate"] for row in rows if "learning_rate" in row}
    seen = {row["step"]: row[metric] for row in rows if metric in row}
    expected, best, rate = {}, None, 1.0
    for step in range(1, 9):
        expected[step] = pytest.approx(rate)
        if step in seen:
            better = best is None or (seen[step] < best * 0.5 if mode == "min" else seen[step] > best * 1.5)
            best, rate = (seen[step], rate) if better else (best, rate / 10)
    assert rates == expected
    assert rate < 1, "some dev pass was no better"
    assert main(["train", *TINY, *words, "trainer.max_steps=4"]) == 0
    assert same(weights(whole), weights(train(*words)))


@pytest.mark.slow
def test_lightnings_own_checkpoints_lie_in_the_runs_folder(home):
    """Also in a folder below the run's own, whose name has the hash of the callback."""
    words = ["recipe.steps=2", "+callbacks.best._target_=pytorch_lightning.callbacks.ModelCheckpoint"]
    assert list(train(*words).glob("curves/checkpoints/*.ckpt"))
    assert list(train(*words, "+callbacks.best.dirpath=${paths.run}/mine").glob("mine/*.ckpt"))
    assert [path.name for path in home.parent.iterdir()] == ["runs"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "word, shown", [("+trainer.enable_progress_bar=false", False), ("+trainer.enable_progress_bar=null", True)]
)
def test_the_progress_is_shown_unless_it_is_turned_off(word, shown, home, capsys):
    train("recipe.steps=2", word)
    assert ("step 2/2" in capsys.readouterr().out) is shown


@pytest.mark.slow
def test_a_progress_bar_of_lightnings_takes_the_place_of_ours(home, capsys):
    train("recipe.steps=2", "+callbacks.bar._target_=pytorch_lightning.callbacks.TQDMProgressBar")
    done = capsys.readouterr()
    assert "step 2/2" not in done.out
    assert "2/2" in done.out + done.err


@pytest.mark.slow
def test_deterministic_algorithms_and_the_search_for_nan_are_on(home, monkeypatch):
    import torch.autograd

    seen = []
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW,
        "step",
        lambda *words, **more: (
            seen.append((torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled()))
            or step(*words, **more)
        ),
    )
    train("recipe.steps=2", "run_group=plain")
    train("recipe.steps=2", "+trainer.deterministic=true", "+trainer.detect_anomaly=true", "run_group=searching")
    train("recipe.steps=2", "run_group=after")
    assert seen == [(False, False)] * 2 + [(True, True)] * 2 + [(False, False)] * 2


@pytest.mark.parametrize("words", [["logger=[wandb,mlflow]"], ["logger=[mlflow,wandb]"], ["logger=[csv,wandb,mlflow]"]])
def test_several_loggers_in_any_order_and_one_of_a_file_of_ones_own(words, home, tmp_path):
    """The file is the one of docs/passthrough.md."""
    text = (ROOT / "docs/passthrough.md").read_text()
    (file,) = re.findall(r"```yaml\n# FOLDER/logger/mlflow.yaml.*?\n(.*?)```", text, re.DOTALL)
    (tmp_path / "mine/logger").mkdir(parents=True)
    (tmp_path / "mine/logger/mlflow.yaml").write_text(file)
    with added_config_dirs([str(tmp_path / "mine")]):
        cfg = load_config("train", words)
        assert cfg.logs_to_wandb
        assert cfg.logger.mlflow._target_ == "pytorch_lightning.loggers.MLFlowLogger"
        assert cfg.logger.mlflow.tracking_uri == f"file:{run_dir(cfg)}/mlflow"


@pytest.mark.slow
def test_what_wandb_takes_is_passed_to_it(home):
    words = ["+logger.wandb.notes='a b'", "++logger.wandb.tags=[mine]", "++logger.wandb.name=own"]
    train("logger=wandb", "recipe.steps=2", *words)
    (offline,) = offline_runs(home)
    assert (offline.run.display_name, offline.run.notes) == ("own", "a b")
    assert set(offline.run.tags) == {"listops", "none", "paper", "tiny", "mine"}


@pytest.mark.some_fast(2)
@pytest.mark.parametrize(
    "content, key, right",
    [
        ("recipe: {batchsize: 4}", "recipe.batchsize", "recipe.batch_size"),
        ("protocol: {poling: cls}", "protocol.poling", "protocol.pooling"),
        ("task: {data: {min_lenght: 4}}", "task.data.min_lenght", "task.data.min_length"),
        ("protocl: clean", "protocl", "protocol"),
        ("recipe: {my_rate: 0.1, optimizer: {lr: '${recipe.my_rate}'}}", None, None),
    ],
)
def test_a_file_of_ones_own_sets_only_what_is_read(content, key, right, home, tmp_path, refused):
    (tmp_path / "mine/experiment").mkdir(parents=True)
    (tmp_path / "mine/experiment/own.yaml").write_text(f"# @package _global_\n{content}\n")
    words = ["--config-dir", "mine", "experiment=own", "size=tiny"]
    if key is None:
        assert main(["show", "model", *words]) == 0
        return
    for verb in ("show model", "table plan"):
        error = refused(*verb.split(), *words)
        assert (error.kind, error.key, error.right) == ("unknown_option", key, right)


def test_a_row_says_what_was_added_and_the_others_nothing():
    """An argument that one run has and others have not is no setting that was not recorded."""
    records = [make_record(seed=seed) for seed in range(3)]
    record = make_record(seed=7)
    words = ["task=listops", "+recipe.optimizer.amsgrad=true", "+trainer.limit_test_batches=2"]
    record["settings"] = hashed_settings(load_config("train", words))
    names = list(rows_by_name([*records, record]))
    assert names == ["nystrom", "nystrom (recipe.optimizer.amsgrad=true, trainer.limit_test_batches=2)"]
    notes = " ".join(accuracy_table([*records, record], reference="paper").notes)
    assert "limit_test_batches" in notes
    assert "limit_test_batches" not in " ".join(accuracy_table(records, reference="paper").notes)
