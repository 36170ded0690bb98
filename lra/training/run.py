"""One run from first step to test: fit, go on after a kill, test the best checkpoint."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.plugins.environments import ClusterEnvironment, LightningEnvironment, SLURMEnvironment
from pytorch_lightning.utilities import rank_zero_only
from rich.console import Console

from lra.run_files import LAST
from lra.signals import check_stopped
from lra.training.allocator import FreedMemory, is_glibc, keep_freed_memory
from lra.training.best import best_so_far
from lra.training.checkpoints import WholeCheckpointIO, read_checkpoint, saved_step
from lra.training.module import ClassifierModule
from lra.training.progress import RunProgress
from lra.training.ranks import by_srun, rank
from lra.training.resume import ResumePoint
from lra.training.telemetry import Telemetry, peak_memory_bytes
from lra.types import UserError

THREADS_PER_CORE = 4  # at most; with a million, torch ends in a segmentation fault
RANK_STRIDE = 1_000_003  # between the seeds of processes that train together: none is another run's seed


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and how a run computes: on this machine.

    Args:
        accelerator, devices, precision, accumulate_grad_batches: Lightning's Trainer arguments of the same names.
        threads: CPU threads; None: as many as torch takes by itself.

    Raises:
        UserError: when a GPU is asked for and none is there, or far more threads than cores.
    """

    accelerator: str
    devices: int
    precision: str
    accumulate_grad_batches: int
    threads: int | None

    def __post_init__(self) -> None:
        cores = os.cpu_count() or 1
        if self.threads and self.threads > THREADS_PER_CORE * cores:
            raise UserError(
                f"trainer.threads={self.threads}, but this machine has {cores} cores, and more than {THREADS_PER_CORE}"
                f" threads a core are no help; type trainer.threads={cores}"
            )
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise UserError("trainer=gpu, but no CUDA device is visible to torch; type trainer=cpu, or see: lra doctor")


@dataclass(frozen=True, kw_only=True)
class TestedRun:
    """What came out of a run that trained to its end.

    Attributes:
        test_correct: which test examples it got right, `[examples]` bool in the split's order.
        confusion: the confusion matrix: test examples by true label (row) and predicted label (column).
    """

    test_accuracy: float
    test_loss: float
    test_correct: np.ndarray
    confusion: list[list[int]]
    best_dev_accuracy: float
    best_step: int
    train_seconds: float
    peak_memory_bytes: int


def quiet_lightning() -> None:
    """Keep Lightning's banners and hints out of the user's screen; errors still come through."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    for text in (
        "does not have many workers",
        "You called `self.log",
        "Checkpoint directory",
        "logging interval",
        "is deprecated, use `isinstance",
        "callbacks used to create the checkpoint",  # of a run that an older version has begun
    ):
        warnings.filterwarnings("ignore", message=f".*{text}.*")


def prepare_machine(machine: Machine) -> None:
    """Set this process's threads and allocator."""
    quiet_lightning()
    if machine.accelerator == "cpu":
        keep_freed_memory()
    if machine.threads:
        torch.set_num_threads(machine.threads)


def make_trainer(machine: Machine, *, callbacks: Sequence[Callback] = (), **settings: Any) -> pl.Trainer:
    """A Lightning Trainer on `machine`, without Lightning's progress bar, model summary and sanity check."""
    prepare_machine(machine)
    keeps = machine.accelerator == "cpu" and is_glibc()
    if machine.devices == 1:
        rank_zero_only.rank = 0  # type: ignore[attr-defined]  # whatever RANK another launcher has left behind
    trainer = pl.Trainer(
        callbacks=[StopsAtSignals(), *callbacks, *([FreedMemory()] if keeps else [])],
        accelerator=machine.accelerator,
        devices=machine.devices,
        strategy="ddp" if machine.devices > 1 else "auto",
        precision=machine.precision,  # type: ignore[arg-type]  # a Literal there, words of a YAML file here
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,  # the loaders share batches out themselves
        plugins=[WholeCheckpointIO(), _environment(machine)],
        **settings,
    )
    # Lightning's own handlers would answer SIGTERM with a collective call, which waits for processes that are gone, and
    # SLURM's signals with a checkpoint of a half done step; ours end the run in order.
    trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
    return trainer


def _environment(machine: Machine) -> ClusterEnvironment:
    """How the processes of a run find each other; Lightning would guess it from any variable that is set."""
    return SLURMEnvironment(auto_requeue=False) if by_srun(machine.devices) else LightningEnvironment()


class StopsAtSignals(Callback):
    """Ends a run whose signal's exception was lost in a library."""

    def on_train_batch_start(self, *_: object) -> None:
        """Look before each batch."""
        check_stopped()

    def on_validation_batch_start(self, *_: object) -> None:
        """Look before each batch."""
        check_stopped()

    def on_test_batch_start(self, *_: object) -> None:
        """Look before each batch."""
        check_stopped()


def fit(
    module: ClassifierModule,
    datamodule: pl.LightningDataModule,
    *,
    folder: Path,
    machine: Machine,
    steps: int,
    eval_every: int,
    max_steps: int | None,
    log_every_steps: int,
    checkpoint_every_seconds: float,
    loggers: list[Logger],
    console: Console,
    profiler: str | None,
) -> bool:
    """Train to `steps`, or to `max_steps` if that is less, from wherever `folder` says the run is.

    Returns:
        True when the run has reached `steps`.

    Raises:
        UserError: when a checkpoint is damaged, or the best one is not this run's.
        KeyboardInterrupt: on Ctrl-C; the last resume point is kept.
        Stopped: when a signal has come; the last resume point is kept.
        NonFiniteLossError: when the loss is no number.
    """
    done, best = saved_step(folder / LAST), best_so_far(folder)
    stop = steps if max_steps is None else min(steps, max_steps)
    if done >= stop:
        return done >= steps
    every = min(eval_every, steps)
    telemetry = Telemetry(every_steps=log_every_steps)
    trainer = make_trainer(
        machine,
        max_steps=stop,
        accumulate_grad_batches=machine.accumulate_grad_batches,
        val_check_interval=every * machine.accumulate_grad_batches,
        logger=loggers,
        profiler=profiler,
        callbacks=[
            telemetry,
            RunProgress(telemetry, console=console, steps=steps),
            ResumePoint(folder, best=best, every_seconds=checkpoint_every_seconds, eval_every=every, steps=steps),
        ],
    )
    number = rank(machine.devices)
    if number:  # one seed for all gave the same weights; dropout must not be the same everywhere
        torch.manual_seed(torch.initial_seed() + RANK_STRIDE * number)
    trainer.fit(module, datamodule=datamodule, ckpt_path=folder / LAST if done else None, weights_only=True)
    return trainer.global_step >= steps


def test(
    module: ClassifierModule,
    datamodule: pl.LightningDataModule,
    *,
    checkpoint: Path,
    machine: Machine,
    loggers: list[Logger],
) -> dict[str, float]:
    """Test the weights in `checkpoint`: `test/accuracy` and `test/loss` over every example.

    Raises:
        UserError: when the checkpoint is damaged, or its weights are of another model.
    """
    stored, own = read_checkpoint(checkpoint)["state_dict"], module.state_dict()
    shapes = [{name: tensor.shape for name, tensor in state.items()} for state in (stored, own)]
    wrong = {name for name, _ in shapes[0].items() ^ shapes[1].items()}
    if wrong:
        raise UserError(
            f"{checkpoint} holds another model than its config.yaml describes: {sorted(wrong)[0]} does not fit;"
            " train again, or bring the run's own files back"
        )
    trainer = make_trainer(machine, logger=loggers)
    trainer.test(module, datamodule=datamodule, ckpt_path=checkpoint, weights_only=True, verbose=False)
    return {name: value.item() for name, value in trainer.callback_metrics.items()}


def finish(folder: Path, metrics: dict[str, float], module: ClassifierModule) -> TestedRun:
    """Gather a run's outcome from its test, of which `module` knows the examples, and from its checkpoints."""
    last, best = read_checkpoint(folder / LAST), best_so_far(folder)
    assert best is not None, "a finished run has had a dev pass"
    return TestedRun(
        test_accuracy=metrics["test/accuracy"],
        test_loss=metrics["test/loss"],
        test_correct=torch.cat(module.correct).numpy(),
        confusion=module.confusion,
        best_dev_accuracy=best.accuracy,
        best_step=best.step,
        train_seconds=float(last["callbacks"]["ResumePoint"]["train_seconds"]),
        peak_memory_bytes=peak_memory_bytes(module.device),
    )
