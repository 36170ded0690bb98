"""Training: exact across kills, deterministic, and equal in parts."""

import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import torch
from filelock import FileLock

from lra.cli import main
from lra.training.curves import read_curves
from lra.training.loggers import CurveLogger
from lra.training.schedule import one_cycle
from lra.types import LOCKED
from tests.conftest import hear_ctrl_c, outer_environment

COMMAND = ("train", "size=tiny", "recipe.steps=60", "recipe.eval_every=25", "logger=csv")


def weights(runs):
    (path,) = runs.rglob("last.ckpt")
    return torch.load(path, weights_only=True)["state_dict"]


def curve(runs, *columns: str):
    (path,) = runs.rglob("metrics.csv")
    return [[row.get(column) for column in columns] for row in read_curves(path)]


def same(a, b) -> bool:
    return a.keys() == b.keys() and all(a[key].equal(b[key]) for key in a)


@contextmanager
def started(runs, *words: str):
    """The run in a process of its own, which does not outlive the block."""
    env = {**outer_environment(), "LRA_RUNS_DIR": str(runs)}
    command = [sys.executable, "-m", "lra", *COMMAND, *words]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, preexec_fn=hear_ctrl_c, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def step_of(runs) -> int:
    rows = [row for path in runs.rglob("metrics.csv") for row in read_curves(path)]
    return int(max((row["step"] for row in rows), default=0))


@pytest.mark.slow
def test_killed_at_three_random_moments_the_final_weights_are_the_uninterrupted_runs(home, tmp_path):
    """Random moments; the seed of the choice is printed. Catches: the random states not restored, a batch skipped."""
    often = ("callbacks.checkpoint_every_seconds=0.1", "callbacks.log_every_steps=1")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with started(whole, *often) as process:
        assert process.wait(120) == 0
    seed = time.time_ns()
    print("seed of the moments:", seed)
    for moment in sorted(random.Random(seed).sample(range(2, 45), 3)):
        with started(killed, *often) as process:
            while step_of(killed) < moment and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
    with started(killed, *often) as process:
        assert process.wait(120) == 0
    assert same(weights(killed), weights(whole))
    columns = ("step", "train/loss", "train/accuracy", "learning_rate", "dev/accuracy", "test/accuracy")
    assert curve(killed, *columns) == curve(whole, *columns)


@pytest.mark.slow
def test_the_same_seed_repeats_bit_for_bit_and_seed_zero_is_a_seed(home, tmp_path, monkeypatch):
    found = {}
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / name))
        assert main([*COMMAND, "recipe.steps=3", "model.num_layers=1", f"seed={seed}"]) == 0
        found[name] = weights(tmp_path / name)
    assert same(found["a"], found["b"])
    assert not same(found["a"], found["c"])


@pytest.mark.slow
def test_accumulated_parts_give_the_whole_batchs_weights(home, tmp_path, monkeypatch):
    """With the batch-wide switches clean and no dropout."""
    words = ("protocol=clean", "model.dropout=0", "recipe.steps=3", "recipe.eval_every=3", "model.num_layers=1")
    found = []
    for parts in (1, 4):
        monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / str(parts)))
        assert main([*COMMAND, *words, f"trainer.accumulate_grad_batches={parts}"]) == 0
        found.append(weights(tmp_path / str(parts)))
    for key in found[0]:
        if key.startswith("model."):
            torch.testing.assert_close(found[0][key], found[1][key], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_loss_that_is_no_number_stops_the_run_and_says_where(home, capsys, monkeypatch):
    monkeypatch.setenv("LRA_RUNS_DIR", str(home))
    assert main([*COMMAND, "recipe.optimizer.lr=1e38"]) == 2
    err = capsys.readouterr().err
    for word in ("the loss is", "at step", "listops/nystrom"):
        assert word in err


@pytest.mark.slow
def test_ctrl_c_keeps_the_checkpoint_and_says_how_to_go_on(home):
    words = ("recipe.steps=2000", "callbacks.checkpoint_every_seconds=0.1", "callbacks.log_every_steps=1")
    with started(home, *words) as process:
        while step_of(home) < 5 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "is saved" in err
    assert "goes on from there" in err
    assert "Traceback" not in err
    assert list(home.rglob("last.ckpt"))


def test_one_cycle_is_the_papers_schedule():
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1e-4, betas=(0.9, 0.999))
    schedule = one_cycle(optimizer, steps=5000, warmup_fraction=0.2)
    rates, momenta = [], []
    for _ in range(5000):
        rates.append(schedule.get_last_lr()[0])
        momenta.append(optimizer.param_groups[0]["betas"][0])
        optimizer.step()
        schedule.step()
    assert rates[0] == pytest.approx(1e-4 / 25)
    assert max(rates) == rates[999] == pytest.approx(1e-4)
    assert rates[500] == pytest.approx((rates[0] + rates[999]) / 2, rel=0.01), "linear"
    assert rates[-1] < 1e-9
    assert (momenta[0], momenta[999], momenta[-1]) == pytest.approx((0.95, 0.85, 0.95))


def test_curves_keep_what_was_before_the_resume_and_drop_what_came_after(tmp_path):
    path = tmp_path / "metrics.csv"
    first = CurveLogger(path, resume_step=0)
    for step in (10, 20, 30):
        first.log_metrics({"train/loss": step / 10, "unknown": 1.0}, step)
    with path.open("a") as file:
        file.write("40,4.")  # cut short by a kill
    second = CurveLogger(path, resume_step=20)
    second.log_metrics({"dev/accuracy": 0.5}, 20)
    assert read_curves(path) == [
        {"step": 10, "train/loss": 1.0},
        {"step": 20, "train/loss": 2.0},
        {"step": 20, "dev/accuracy": 0.5},
    ]


@pytest.mark.slow
def test_a_run_that_another_process_trains_is_left_alone(home, capsys):
    assert main([*COMMAND, "trainer.max_steps=2"]) == 0
    (config,) = home.rglob("config.yaml")
    with FileLock(config.parent / "lock"):
        assert main(COMMAND) == LOCKED
    assert "another process is training this run" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_does_not_go_on_with_other_data(home, capsys):
    assert main([*COMMAND, "trainer.max_steps=2"]) == 0
    (data,) = home.rglob("data.json")
    data.write_text(data.read_text().replace("tokens", "others"))
    assert main(COMMAND) == 2
    assert "the data changed" in capsys.readouterr().err
