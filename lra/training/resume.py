"""Write checkpoints from which a run resumes exactly: on a CPU, bit-identical to an uninterrupted run.

Three things make this possible. `last.ckpt` is written only after a whole step or a whole dev pass. Batch k depends on
the seed and k alone. The states of the random generators are saved, and restored before the next batch.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytorch_lightning as pl
import torch
from pydantic import TypeAdapter
from pytorch_lightning.callbacks import Checkpoint, Timer
from pytorch_lightning.callbacks.timer import Interval
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from lra.base.files import sha256
from lra.runs.files import BEST, LAST
from lra.training import private_lightning
from lra.training.checkpoints import NEXT_BEST, BestDevPass, checkpoint_errors, read_checkpoint
from lra.training.loop_settings import LoopSettings
from lra.training.memory import peak_memory_bytes, reset_peak_memory
from lra.training.ranks import gather, rank_in_group


class DevPasses(TypedDict):
    """The dev passes of a run so far: optimizer steps before each, and its accuracy, a fraction in [0, 1]."""

    step: list[int]
    accuracy: list[float]


DEV_PASSES = TypeAdapter(DevPasses)
T = TypeVar("T")


class ResumePoint(Checkpoint):
    """Writes `last.ckpt` after each dev pass and every `checkpoint_every_seconds` between them, and writes `best.ckpt`.

    When a dev pass follows a step, the checkpoint is written after the pass. Otherwise Lightning would skip the pass on
    resuming.

    Args:
        folder: where the checkpoints are.
        loop: when dev passes and checkpoints are due.
        best: the best dev pass so far; None before the first.
        batch_parts: number of parts into which a batch is split; the position in the data counts these.

    Attributes:
        passes: the dev passes.
        ended: whether a callback of the user's own, such as early stopping, has ended the run before its last step.
    """

    def __init__(self, folder: Path, loop: LoopSettings, *, best: BestDevPass | None, batch_parts: int = 1):
        self.folder, self.loop, self.best, self.batch_parts = folder, loop, best, batch_parts
        self.train_seconds = 0.0
        self.peak_memory_bytes = 0
        self.passes: DevPasses = {"step": [], "accuracy": []}
        self.ended = False
        self._clock = self._saved = 0.0
        self._random: dict[str, Any] | None = None
        self._random_of_ranks: list[dict[str, Any]] = []

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Forget the largest memory of earlier runs of this process; keep Lightning's Timers from asking every step."""
        reset_peak_memory(trainer.strategy.root_device)
        for timer in _timers(trainer):
            timer._interval = Interval.epoch  # an epoch is the whole run: `on_train_batch_end` stops it

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._clock = self._saved = time.monotonic()

    def on_train_batch_start(self, trainer: pl.Trainer, *_: object) -> None:
        """Restore the random states before the first batch after a resume."""
        if self._random is not None:
            with checkpoint_errors(self.folder / LAST):
                _restore_random_states(self._random, trainer.strategy.root_device)
            self._random = None

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: object) -> None:
        """Save if it is time or if `max_steps` ends the run here; make Lightning run a dev pass after the last step."""
        if private_lightning.is_accumulating(trainer):
            return
        step = trainer.global_step
        asks = trainer.world_size == 1 or step % self.loop.log_every_steps == 0
        if asks and _time_is_up(trainer):
            private_lightning.end_at(trainer, step)
        if step == self.loop.steps:
            trainer.should_stop = True  # makes Lightning run a dev pass, even if eval_every does not divide steps
        elif step % self.loop.eval_every != 0:
            due = asks and _any_process(trainer, time.monotonic() - self._saved >= self.loop.checkpoint_every_seconds)
            if due or step == trainer.max_steps:  # all processes must save together
                self._save(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save; keep the weights as the best ones if their dev accuracy is above all earlier ones."""
        time_is_up = _time_is_up(trainer)  # all processes must ask
        self.ended = trainer.should_stop and trainer.global_step < self.loop.steps and not time_is_up
        accuracy = trainer.callback_metrics["dev/accuracy"].item()
        self.passes["step"].append(trainer.global_step)
        self.passes["accuracy"].append(accuracy)
        better = self.best is None or accuracy > self.best.accuracy
        if better:
            _save_weights(trainer, self.folder / NEXT_BEST)
            digest = gather(sha256(self.folder / NEXT_BEST) if trainer.is_global_zero else "")[0]  # of who wrote it
            self.best = BestDevPass(accuracy=accuracy, step=trainer.global_step, sha256=digest)
        self._save(trainer)
        if better and trainer.is_global_zero:
            os.replace(self.folder / NEXT_BEST, self.folder / BEST)
        if better:
            trainer.strategy.barrier("best")  # else another process could test the old `best.ckpt`

    def _save(self, trainer: pl.Trainer) -> None:
        module: Any = trainer.lightning_module
        module.check_finite()  # else weights that are NaN could replace the last good ones
        now = time.monotonic()
        self.train_seconds += now - self._clock
        self._clock = self._saved = now
        self._random_of_ranks = gather(_random_states(trainer.strategy.root_device))
        self.peak_memory_bytes = max(self.peak_memory_bytes, peak_memory_bytes(trainer.strategy.root_device))
        trainer.save_checkpoint(self.folder / LAST)

    def state_dict(self) -> dict[str, Any]:
        """Return training time, largest memory, parts of a batch, the best dev pass, each process's random states."""
        return {
            "train_seconds": self.train_seconds,
            "peak_memory_bytes": self.peak_memory_bytes,
            "batch_parts": self.batch_parts,
            "best": None if self.best is None else asdict(self.best),
            "random": self._random_of_ranks,
            "dev_passes": self.passes,
            **({"ended": True} if self.ended else {}),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore time, memory, dev passes and the random states; the constructor has the best dev pass already."""
        self.train_seconds = float(state_dict["train_seconds"])
        self.peak_memory_bytes = int(state_dict["peak_memory_bytes"])
        self.passes = dev_passes(state_dict)
        self._random = state_dict["random"][rank_in_group()]


def _save_weights(trainer: pl.Trainer, path: Path) -> None:
    """Write the weights that the dev pass used: a callback may average them, and puts them into a checkpoint.

    Lightning's `save_checkpoint(weights_only=True)` does not ask the callbacks.
    """
    checkpoint = private_lightning.checkpoint_of_weights(trainer)
    keys = list(checkpoint)
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        callback.on_save_checkpoint(trainer, trainer.lightning_module, checkpoint)
    trainer.strategy.save_checkpoint({key: checkpoint[key] for key in keys}, path)
    trainer.strategy.barrier("weights")


def _of_last_checkpoint(folder: Path, read: Callable[[dict[str, Any]], T], default: T) -> T:
    """Read something of the last checkpoint in `folder`; return the default without one."""
    if not (folder / LAST).exists():
        return default
    with checkpoint_errors(folder / LAST):
        return read(read_checkpoint(folder / LAST))


def saved_step_and_end(folder: Path) -> tuple[int, bool]:
    """Return the step of the last checkpoint in `folder`, 0 without one, and whether a callback ended the run there."""

    def step_and_end(last: dict[str, Any]) -> tuple[int, bool]:
        return int(last["global_step"]), bool(last["callbacks"]["ResumePoint"].get("ended"))

    return _of_last_checkpoint(folder, step_and_end, (0, False))


def dev_passes(state: Mapping[str, Any]) -> DevPasses:
    """Read the dev passes in the state of a `ResumePoint`."""
    passes = DEV_PASSES.validate_python(state["dev_passes"], strict=True)
    if len(passes["step"]) != len(passes["accuracy"]):
        raise ValueError("its dev passes are not one accuracy per step")
    return passes


def passes_so_far(trainer: pl.Trainer) -> DevPasses:
    """Return the dev passes up to the one that ends now."""
    (resume,) = (callback for callback in trainer.callbacks if isinstance(callback, ResumePoint))  # type: ignore[attr-defined]
    accuracy = trainer.callback_metrics["dev/accuracy"].item()
    step, accuracies = resume.passes["step"], resume.passes["accuracy"]
    return {"step": [*step, trainer.global_step], "accuracy": [*accuracies, accuracy]}


def saved_dev_passes(folder: Path) -> DevPasses | None:
    """Return the dev passes before the last checkpoint in `folder`; None without one."""
    return _of_last_checkpoint(folder, lambda last: dev_passes(last["callbacks"]["ResumePoint"]), None)


def saved_batch_parts(folder: Path) -> int | None:
    """Return the number of parts of a batch in the last checkpoint; None without one."""
    return _of_last_checkpoint(folder, lambda last: int(last["callbacks"]["ResumePoint"]["batch_parts"]), None)


def _time_is_up(trainer: pl.Trainer) -> bool:
    """Tell whether Lightning's Timer, which `trainer.max_time` adds, has stopped the training of any process."""
    left = [timer.time_remaining() for timer in _timers(trainer)]
    return bool(left) and _any_process(trainer, any(seconds is not None and seconds <= 0 for seconds in left))


def _timers(trainer: pl.Trainer) -> list[Timer]:
    return [callback for callback in trainer.callbacks if isinstance(callback, Timer)]  # type: ignore[attr-defined]


def _any_process(trainer: pl.Trainer, decision: bool) -> bool:
    """Tell whether one of the processes has decided so: their clocks differ, and all must do the same."""
    return bool(trainer.strategy.reduce_boolean_decision(decision, all=False))


def _random_states(device: torch.device) -> dict[str, Any]:
    """Read the random states of torch, numpy and Python, as plain types that `weights_only=True` can load.

    Of the GPUs only that of the training has one: the run may go on where there are fewer.
    """
    numpy_state: Any = np.random.get_state(legacy=False)
    return {
        "torch": torch.get_rng_state(),
        "cuda": [torch.cuda.get_rng_state(device)] if device.type == "cuda" else [],
        "numpy_key": torch.from_numpy(numpy_state["state"]["key"].astype(np.int64)),
        "numpy_position": int(numpy_state["state"]["pos"]),
        "numpy_gauss": [int(numpy_state["has_gauss"]), float(numpy_state["gauss"])],
        "python": list(random.getstate()[1]),
    }


def _restore_random_states(states: dict[str, Any], device: torch.device) -> None:
    torch.set_rng_state(states["torch"])
    if states["cuda"] and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"][0], device)
    key = states["numpy_key"].numpy().astype(np.uint32)
    has_gauss, gauss = states["numpy_gauss"]
    np.random.set_state(("MT19937", key, states["numpy_position"], int(has_gauss), gauss))
    random.setstate((3, tuple(states["python"]), None))
