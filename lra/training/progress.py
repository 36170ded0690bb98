"""Collect a run's loss, accuracy, learning rate, speed and memory; show them as a bar, or as lines in a pipe."""

import time
from collections import deque
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from torch.optim import Optimizer

from lra.base.text import clock_text
from lra.training import private_lightning
from lra.training.memory import peak_memory_bytes
from lra.types import Batch

LEAST_BAR, MOST_BAR = 10, 20  # widths of the bar, in characters
LINE_SECONDS = 15.0  # between two lines of an output that is no terminal
RECENT_SECONDS = 10.0  # over which the speed is shown
ELAPSED = 10  # characters of the time since the start
LEFT_OUT_FIRST = ("speed", "accuracy", "loss", "dev", "left")  # of the note, on a narrow terminal


class TrainingClock:
    """A clock that stands still during dev passes; `dev_seconds` is how long the last one took, 0 before the first."""

    def __init__(self) -> None:
        self._dev_began = self._all_dev_seconds = self.dev_seconds = 0.0

    def seconds(self) -> float:
        """The time, of which differences have a meaning."""
        return time.monotonic() - self._all_dev_seconds

    def begin_dev_pass(self) -> None:
        """Stop the clock."""
        self._dev_began = time.monotonic()

    def end_dev_pass(self) -> None:
        """Let the clock go on."""
        self.dev_seconds = time.monotonic() - self._dev_began
        self._all_dev_seconds += self.dev_seconds


class Telemetry(Callback):
    """Logs the metrics every `every_steps` optimizer steps and at the run's last; the speed is without dev passes.

    `latest` is the last logged point, and `clock` the run's clock, for the progress bar.
    """

    def __init__(self, *, every_steps: int, last_step: int):
        self.every_steps, self.last_step = every_steps, last_step
        self.latest: dict[str, float] = {}
        self.clock = TrainingClock()
        self._started = 0.0
        self._steps = self._tokens = 0
        self._learning_rate = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._restart()

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop the clock during a dev pass."""
        self.clock.begin_dev_pass()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock again after a dev pass."""
        self.clock.end_dev_pass()

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
        if private_lightning.is_accumulating(trainer):
            return
        self._steps += 1
        step = trainer.global_step
        if step % self.every_steps and step != self.last_step:
            return
        metrics = pl_module.pop_train_metrics()  # waits for the device, so the clock must be read after it
        seconds = self.clock.seconds() - self._started
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
        self._steps = self._tokens = 0
        self._started = self.clock.seconds()


class RecentSpeed:
    """Optimizer steps per second in the last `RECENT_SECONDS`; of slower steps, that of the last."""

    def __init__(self, step: int, seconds: float):
        self._ends = deque([(seconds, step)])  # of steps, and which

    def end_step(self, step: int, seconds: float) -> None:
        """Count the steps up to this one, which ended at this time."""
        self._ends.append((seconds, step))
        while len(self._ends) > 2 and seconds - self._ends[1][0] >= RECENT_SECONDS:
            self._ends.popleft()

    @property
    def steps_per_second(self) -> float:
        """The speed, after at least one step."""
        (first, first_step), (last, last_step) = self._ends[0], self._ends[-1]
        return (last_step - first_step) / max(last - first, 1e-9)


class RunProgress(Callback):
    """Shows loss, accuracy, speed and the time left, which includes dev passes; `steps` are those of the whole run.

    A terminal gets a bar, any other output a line from time to time. Speed and time left are those of the last seconds,
    loss and accuracy those of the latest point of the telemetry.
    """

    def __init__(self, telemetry: Telemetry, *, console: Console, steps: int, eval_every: int):
        self.telemetry, self.console, self.steps, self.eval_every = telemetry, console, steps, eval_every
        self._bar: Progress | None = None
        self._train = self._dev = TaskID(0)  # rows of the bar
        self._dev_accuracy: float | None = None
        self._last_line = 0.0
        self._speed = RecentSpeed(0, telemetry.clock.seconds())

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Open the bar at the step from which the run starts or resumes."""
        self._speed = RecentSpeed(trainer.global_step, self.telemetry.clock.seconds())
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=self._bar_width),
                TextColumn("{task.completed:.0f}/{task.total:.0f}"),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                console=self.console,
            )
            self._train = self._bar.add_task("train", total=self.steps, completed=trainer.global_step, note="")
            self._bar.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: object) -> None:
        """Advance the bar, or print a line if it is time."""
        if private_lightning.is_accumulating(trainer):
            return
        step = trainer.global_step
        self._speed.end_step(step, self.telemetry.clock.seconds())
        if self._bar is not None:
            self._bar.update(self._train, completed=step, note=self._note(step, self._note_width))
        elif time.monotonic() - self._last_line >= LINE_SECONDS or step == trainer.max_steps:
            self._last_line = time.monotonic()
            self.console.print(f"step {step}/{self.steps}  {self._note(step)}", highlight=False)

    @property
    def _bar_width(self) -> int:
        return max(LEAST_BAR, min(MOST_BAR, self.console.width // 6))

    @property
    def _note_width(self) -> int:
        """Characters that the other columns of the bar leave on a line."""
        return self.console.width - len(f"train  {self.steps}/{self.steps}  ") - self._bar_width - ELAPSED

    def _note(self, step: int, width: int | None = None) -> str:
        """Word the state of the run, the most important numbers that `width` characters have room for."""
        latest, speed = self.telemetry.latest, self._speed.steps_per_second
        dev_passes = self.steps // self.eval_every - step // self.eval_every
        left = (self.steps - step) / speed + dev_passes * self.telemetry.clock.dev_seconds
        parts = {
            "loss": f"loss {latest['train/loss']:.3f}" if latest else "",
            "accuracy": f"accuracy {latest['train/accuracy']:.1%}" if latest else "",
            "dev": "" if self._dev_accuracy is None else f"dev {self._dev_accuracy:.1%}",
            "speed": f"{speed:.2f} steps/s",
            "left": f"{clock_text(left)} left",
        }
        for name in ("", *LEFT_OUT_FIRST):
            parts.pop(name, None)
            note = "  ".join(filter(None, parts.values()))
            if width is None or len(note) <= width:
                break
        return note

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Show a bar for the dev pass below the bar of the run."""
        if self._bar is not None:
            self._dev = self._bar.add_task("dev", total=sum(trainer.num_val_batches), note="")

    def on_validation_batch_end(self, *_: object) -> None:
        """Advance the bar of the dev pass."""
        if self._bar is not None:
            self._bar.advance(self._dev)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Close the bar of the dev pass, and show the dev accuracy."""
        self._dev_accuracy = float(trainer.callback_metrics["dev/accuracy"])
        if self._bar is not None:
            self._bar.remove_task(self._dev)
        else:
            step = trainer.global_step
            self.console.print(f"step {step}/{self.steps}  dev accuracy {self._dev_accuracy:.1%}", highlight=False)

    def on_train_end(self, *_: object) -> None:
        """Close the bar; after an exception too, so that the error is printed below it."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    on_exception = on_train_end  # type: ignore[assignment]
