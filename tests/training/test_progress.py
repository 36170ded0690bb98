"""The bar of a run on narrow terminals: it is there, and each line is whole."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from lra.training.progress import RunProgress

LATEST = {"train/loss": 2.3001, "train/accuracy": 0.112, "steps_per_second": 12.34}


@pytest.mark.parametrize(
    "columns, shown, hidden",
    [
        (60, ["left"], ["loss", "accuracy"]),
        (80, ["loss 2.300", "dev 37.1%", "left"], ["accuracy", "steps/s"]),
        (120, ["loss 2.300", "accuracy 11.2%", "dev 37.1%", "12.34 steps/s", "left"], []),
    ],
)
def test_the_bar_and_the_step_are_there_at_every_width(columns, shown, hidden):
    console = Console(file=io.StringIO(), force_terminal=True, width=columns)
    progress = RunProgress(SimpleNamespace(latest=LATEST), console=console, steps=35_000)
    trainer = SimpleNamespace(
        global_step=0,
        fit_loop=SimpleNamespace(_should_accumulate=lambda: False),
        num_val_batches=[10],
        callback_metrics={"dev/accuracy": 0.371},
    )
    progress.on_train_start(trainer, None)
    progress._begun -= 8000
    progress.on_validation_start(trainer, None)
    progress.on_validation_end(trainer, None)
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
