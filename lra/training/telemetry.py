"""Collect a run's loss, accuracy, learning rate, speed and memory for the loggers and the progress bar."""

from __future__ import annotations

import time
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from torch.optim import Optimizer

from lra.base.processes import peak_resident_bytes, reset_peak_resident
from lra.training.allocator import return_freed_memory
from lra.training.memory import release_memory
from lra.types import Batch


def peak_memory_bytes(device: torch.device) -> int:
    """Largest memory so far, in bytes: of torch's allocator on a GPU, else of the whole process."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else peak_resident_bytes()


def reset_peak_memory(device: torch.device) -> None:
    """Let the largest memory begin anew, where the system allows it: earlier runs of the process do not count."""
    release_memory()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        return_freed_memory()
        reset_peak_resident()


class Telemetry(Callback):
    """Logs the metrics every `every_steps` optimizer steps; the speed does not include dev passes.

    Attributes:
        latest: the last logged point, for the progress bar.
    """

    def __init__(self, *, every_steps: int):
        self.every_steps = every_steps
        self.latest: dict[str, float] = {}
        self._seconds = self._started = 0.0
        self._steps = self._tokens = 0
        self._learning_rate = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._restart()

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop the clock during a dev pass."""
        self._seconds += time.monotonic() - self._started

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock again after a dev pass."""
        self._started = time.monotonic()

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
    ) -> None:
        """Note the learning rate of this step, before the schedule sets that of the next step."""
        # OneCycle's linear end is computed with rounding and may come out as -1e-24. That step is taken as it is (no
        # weight can tell), but a logged rate below 0 would be an error on a logarithmic axis.
        self._learning_rate = max(0.0, optimizer.param_groups[0]["lr"])

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: object, batch: Batch, batch_idx: int
    ) -> None:
        """Count tokens and steps, and log if it is time."""
        self._tokens += batch.tokens.numel() * trainer.world_size
        if trainer.fit_loop._should_accumulate():
            return
        self._steps += 1
        step = trainer.global_step
        if step % self.every_steps and step != trainer.max_steps:
            return
        metrics = pl_module.pop_train_metrics()  # waits for the device, so the clock must be read after it
        seconds = self._seconds + time.monotonic() - self._started
        self.latest = {
            **metrics,
            "learning_rate": self._learning_rate,
            "steps_per_second": self._steps / seconds,
            "tokens_per_second": self._tokens / seconds,
            "peak_memory_bytes": peak_memory_bytes(pl_module.device),
        }
        for logger in trainer.loggers:
            logger.log_metrics(self.latest, step=step)
        self._restart()

    def _restart(self) -> None:
        self._seconds, self._steps, self._tokens = 0.0, 0, 0
        self._started = time.monotonic()
