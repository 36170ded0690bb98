"""Checkpoints that survive a kill at any moment, and a resume that changes no number.

Two files: `best.ckpt` (weights with the best dev accuracy; Lightning's own callback) and `last.ckpt` (everything
that a resume needs). A resume is exact because `last.ckpt` is only written where nothing is half done, because batch
k is a function of the seed and k, and because the random states of the moment are restored before the next batch.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from pickle import UnpicklingError  # what torch raises; nothing here unpickles
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint, ModelCheckpoint
from pytorch_lightning.plugins.io import TorchCheckpointIO

from lra.training.ranks import gather, place
from lra.types import UserError

BEST, LAST = "best.ckpt", "last.ckpt"


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes beside the file and renames: after a kill there is the old file or the new one, whole."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Save to `path` in one step."""
        unfinished = Path(f"{path}.unfinished")
        super().save_checkpoint(checkpoint, unfinished, storage_options)
        os.replace(unfinished, path)


def best_checkpoint(folder: Path) -> ModelCheckpoint:
    """Keeps the weights with the best dev accuracy, the earliest of equals, in `folder/best.ckpt`."""
    return ModelCheckpoint(
        dirpath=folder,
        filename=Path(BEST).stem,
        monitor="dev/accuracy",
        mode="max",
        save_top_k=1,
        save_weights_only=True,
        enable_version_counter=False,
    )


class ResumePoint(Checkpoint):
    """Writes `last.ckpt` after each dev pass, and between them every `every_seconds`.

    A step that a dev pass follows is never saved before that pass: Lightning would skip the pass on resuming.

    Args:
        folder: where `last.ckpt` goes.
        every_seconds: most seconds of training that a kill may cost.
        eval_every: optimizer steps between dev passes.
        steps: optimizer steps of the whole run.
    """

    def __init__(self, folder: Path, *, every_seconds: float, eval_every: int, steps: int):
        self.path = folder / LAST
        self.every_seconds, self.eval_every, self.steps = every_seconds, eval_every, steps
        self.train_seconds = 0.0
        self._clock = self._saved = 0.0
        self._random: dict[str, Any] | None = None
        self._random_of_ranks: list[dict[str, Any]] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._clock = self._saved = time.monotonic()

    def on_train_batch_start(self, *_: Any) -> None:
        """Before the first batch after a resume, bring the random states back."""
        if self._random is not None:
            _restore_random_states(self._random)
            self._random = None

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """Save if it is time, or if the run stops early here; ask for a dev pass after the very last step."""
        step = trainer.global_step
        if trainer.fit_loop._should_accumulate():
            return
        if step == self.steps:
            trainer.should_stop = True  # makes Lightning run the dev pass, whether or not eval_every divides steps
        elif step % self.eval_every != 0:
            due = step == trainer.max_steps or time.monotonic() - self._saved >= self.every_seconds
            if trainer.strategy.reduce_boolean_decision(due, all=False):  # every process saves, or none
                self._save(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save: the dev pass is done and the best checkpoint is on disk."""
        if not trainer.sanity_checking:
            self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        now = time.monotonic()
        self.train_seconds += now - self._clock
        self._clock = self._saved = now
        self._random_of_ranks = gather(_random_states())
        trainer.save_checkpoint(self.path)

    def state_dict(self) -> dict[str, Any]:
        """Seconds trained so far and each process's random states when it was saved."""
        return {"train_seconds": self.train_seconds, "random": self._random_of_ranks}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up where the saved run was."""
        self.train_seconds = state_dict["train_seconds"]
        self._random = state_dict["random"][place()]


def saved_step(path: Path) -> int:
    """Optimizer steps done in the checkpoint at `path`; 0 when there is none."""
    if not path.exists():
        return 0
    return int(read_checkpoint(path)["global_step"])


def what_is_saved(folder: Path, steps: int) -> str:
    """For the line of a stopped run of `steps` steps: what it can go on from."""
    step = saved_step(folder / LAST)
    kept = f"step {step:,} of {steps:,} is saved in {folder}" if step else "no step was saved yet"
    return f"{kept}. The same command goes on from there."


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, plain containers and tensors only.

    Raises:
        UserError: when the file is damaged or no checkpoint.
    """
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, UnpicklingError) as error:
        first = str(error).splitlines()[0]
        raise UserError(f"{path} cannot be read as a checkpoint ({first}); move it away and train again") from error
    if not isinstance(checkpoint, dict) or not {"global_step", "state_dict"} <= checkpoint.keys():
        raise UserError(f"{path} is no checkpoint of lra; move it away and train again")
    return checkpoint


def _random_states() -> dict[str, Any]:
    """Random states of torch, numpy and Python as tensors and plain containers (so `weights_only` can load them)."""
    numpy_state: Any = np.random.get_state(legacy=False)
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy_key": torch.from_numpy(numpy_state["state"]["key"].astype(np.int64)),
        "numpy_position": int(numpy_state["state"]["pos"]),
        "numpy_gauss": [int(numpy_state["has_gauss"]), float(numpy_state["gauss"])],
        "python": list(random.getstate()[1]),
    }


def _restore_random_states(states: dict[str, Any]) -> None:
    torch.set_rng_state(states["torch"])
    if states["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])
    key = states["numpy_key"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", key, states["numpy_position"], *states["numpy_gauss"]))
    random.setstate((3, tuple(states["python"]), None))
