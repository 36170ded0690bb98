"""The bar of a run on narrow terminals: it is there, and each line is whole."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from lra.training.machine_load import MachineLoad
from lra.training.progress import RunProgress, Telemetry, TrainingClock

LATEST = {"train/loss": 2.3001, "train/accuracy": 0.112}


class Clock:
    """A clock that stands still until a test lets time pass."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    return clock


def trainer_at(step: int) -> SimpleNamespace:
    return SimpleNamespace(
        global_step=step,
        max_steps=35_000,
        fit_loop=SimpleNamespace(_should_accumulate=lambda: False),
        num_val_batches=[10],
        callback_metrics={"dev/accuracy": 0.371},
    )


@pytest.mark.parametrize(
    "columns, shown, hidden",
    [
        (60, ["left"], ["loss", "accuracy"]),
        (80, ["loss 2.300", "dev 37.1%", "left"], ["accuracy", "steps/s"]),
        (120, ["loss 2.300", "accuracy 11.2%", "dev 37.1%", "12.34 steps/s", "left"], []),
    ],
)
def test_the_bar_and_the_step_are_there_at_every_width(columns, shown, hidden, clock):
    console = Console(file=io.StringIO(), force_terminal=True, width=columns)
    telemetry = SimpleNamespace(latest=LATEST, clock=TrainingClock())
    progress = RunProgress(telemetry, console=console, steps=35_000, eval_every=700)
    trainer = trainer_at(0)
    progress.on_train_start(trainer, None)
    progress.on_validation_start(trainer, None)
    progress.on_validation_end(trainer, None)
    clock.now += 12_345 / 12.34
    trainer.global_step = 12_345
    progress.on_train_batch_end(trainer)
    progress.on_train_end(trainer, None)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue()).replace("\r", "\n").splitlines()
    line = next(line for line in lines if "12345/35000" in line)
    assert "━" * 3 in line
    assert "…" not in line
    assert len(line.rstrip()) <= columns
    assert all(part in line for part in shown), line
    assert not any(part in line for part in hidden), line


def test_the_speed_is_that_of_the_last_seconds_and_the_time_left_follows_it(clock):
    out = io.StringIO()
    telemetry = Telemetry(every_steps=10, last_step=1_000)
    progress = RunProgress(telemetry, console=Console(file=out, width=120), steps=1_000, eval_every=100)
    progress.on_train_start(trainer_at(0), None)
    for step in range(1, 101):  # ten steps a second
        clock.now += 0.1
        progress.on_train_batch_end(trainer_at(step))
    for callback in (telemetry, progress):
        callback.on_validation_start(trainer_at(100), None)
    clock.now += 30  # of a dev pass, which is no part of the speed
    for callback in (telemetry, progress):
        callback.on_validation_end(trainer_at(100), None)
    clock.now += 0.1
    progress.on_train_batch_end(trainer_at(101))
    assert "10.00 steps/s  0:06:00 left" in out.getvalue()  # 899 steps, and nine dev passes
    for step in (102, 103):  # the machine has become slow
        clock.now += 20
        progress.on_train_batch_end(trainer_at(step))
    assert "step 103/1000  dev 37.1%  0.05 steps/s  5:03:30 left" in out.getvalue()


def test_a_busy_machine_is_told_of_once_and_after_a_minute(clock, monkeypatch):
    out, load = io.StringIO(), 9.0
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    notice = MachineLoad(Console(file=out))
    for _ in range(60):
        notice.on_train_batch_end()
        clock.now += 1
    assert not out.getvalue()
    load = 2.1  # what a run that has the machine for itself makes
    notice.on_train_batch_end()
    load = 9.0
    for _ in range(200):
        notice.on_train_batch_end()
        clock.now += 1
    assert out.getvalue().count("9.0 on 2 cores") == 1
