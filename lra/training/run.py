"""Train one run from its first step or from a checkpoint, and test its best checkpoint."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ProgressBar
from rich.console import Console

from lra.model.classifier import count_parameters
from lra.runs.files import LAST
from lra.training import private_lightning
from lra.training.checkpoints import best_dev_pass, best_of, checkpoint_errors, read_checkpoint, read_matching_weights
from lra.training.loop_settings import LoopSettings, TrainerAdditions
from lra.training.machine import Machine
from lra.training.machine_load import MachineLoad
from lra.training.memory import peak_memory_bytes
from lra.training.module import ClassifierModule
from lra.training.progress import RunProgress, Telemetry
from lra.training.ranks import rank
from lra.training.resume import DevPasses, ResumePoint, dev_passes, saved_step_and_end
from lra.training.trainer import make_trainer

RANK_STRIDE = 1_000_003  # distance of the seeds of processes that train together; large, to avoid seeds of other runs


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """What a run has measured that was trained to its last step and tested; its record is written from it.

    Accuracies are fractions in [0, 1].

    Attributes:
        test_correct: whether each test example was predicted right, `[examples]` bool in the split's order.
        confusion: the confusion matrix: test examples by true label (row) and predicted label (column).
        trained_steps: optimizer steps that were trained: fewer than planned if a callback ended the run early.
        best_step: step of the dev pass whose checkpoint was tested.
        train_seconds: training time, dev passes included, summed over all resumes of the run.
        peak_memory_bytes: largest memory of the processes that trained and tested the run.
        batch_parts: number of parts into which each batch was split.
        dev_curve: step and accuracy of each dev pass.
        parameters: number of the model's parameters.
    """

    test_accuracy: float
    test_loss: float
    test_correct: np.ndarray
    confusion: list[list[int]]
    trained_steps: int
    best_dev_accuracy: float
    best_step: int
    train_seconds: float
    peak_memory_bytes: int
    batch_parts: int
    dev_curve: DevPasses
    parameters: int


def fit(
    module: ClassifierModule,
    datamodule: pl.LightningDataModule,
    folder: Path,
    machine: Machine,
    loop: LoopSettings,
    added: TrainerAdditions,
) -> bool:
    """Train a run to its last step, from the last checkpoint in `folder` if there is one.

    Returns:
        Whether the run has reached `loop.steps`, or a callback has ended it early.

    Raises:
        UserError: when a checkpoint is damaged, or `best.ckpt` is not this run's.
        KeyboardInterrupt, Stopped: on Ctrl-C or another signal; the last checkpoint is kept.
        NonFiniteLossError: when the loss is NaN or infinite.
    """
    best = best_dev_pass(folder)
    start_step, ended = saved_step_and_end(folder)
    if ended or start_step >= loop.last_step:
        return ended or start_step >= loop.steps
    loop = replace(loop, eval_every=min(loop.eval_every, loop.steps))
    telemetry = Telemetry(every_steps=loop.log_every_steps, last_step=loop.steps)
    resume = ResumePoint(folder, loop, best=best, batch_parts=machine.accumulate_grad_batches)
    arguments = {**added.arguments}
    shown = arguments.pop("enable_progress_bar", True)
    if any(isinstance(callback, ProgressBar) for callback in added.callbacks):
        arguments["enable_progress_bar"], shown = True, False  # theirs in the place of ours
    progress = added.console if shown else Console(quiet=True)
    trainer = make_trainer(
        machine,
        arguments,
        max_steps=loop.last_step,
        default_root_dir=folder,
        accumulate_grad_batches=machine.accumulate_grad_batches,
        val_check_interval=loop.eval_every * machine.accumulate_grad_batches,
        logger=added.loggers,
        profiler=added.profiler,
        callbacks=[
            telemetry,
            RunProgress(telemetry, console=progress, steps=loop.steps, eval_every=loop.eval_every),
            MachineLoad(added.console),
            *added.callbacks,
            resume,
        ],
    )
    number = rank(machine.processes)
    if number:  # the weights come from the same seed in all processes, but dropout must differ
        torch.manual_seed(torch.initial_seed() + RANK_STRIDE * number)
    _check_what_is_restored(trainer, folder / LAST)
    trainer.fit(module, datamodule=datamodule, ckpt_path=folder / LAST if start_step else None, weights_only=True)
    return resume.ended or trainer.global_step >= loop.steps


def _check_what_is_restored(trainer: pl.Trainer, path: Path) -> None:
    """Let Lightning word any trouble with the checkpoint at `path`, and refuse one that lacks an optimizer's state."""

    def check(restored: dict[str, Any]) -> None:
        for key, needed in (("optimizer_states", trainer.optimizers), ("lr_schedulers", trainer.lr_scheduler_configs)):
            if len(restored[key]) != len(needed):  # Lightning would go on with those that are there
                raise ValueError(f"it has {len(restored[key])} {key}, not {len(needed)}")
        if restored["global_step"] != trainer.global_step:
            raise ValueError(f"its loops are at step {trainer.global_step}, not {restored['global_step']}")

    private_lightning.around_restoring(trainer, checkpoint_errors(path), check)


def test(
    module: ClassifierModule,
    datamodule: pl.LightningDataModule,
    checkpoint: Path,
    machine: Machine,
    added: TrainerAdditions,
) -> dict[str, float]:
    """Test the weights in `checkpoint`, and return `test/accuracy` and `test/loss` over every example.

    Raises:
        UserError: when the checkpoint is damaged, or its weights do not fit the model.
    """
    read_matching_weights(checkpoint, module.model)  # a mistake in them is worded before Lightning meets it
    arguments = {name: value for name, value in added.arguments.items() if name != "enable_progress_bar"}
    trainer = make_trainer(machine, arguments, logger=added.loggers)
    trainer.test(module, datamodule=datamodule, ckpt_path=checkpoint, weights_only=True, verbose=False)
    return {name: value.item() for name, value in trainer.callback_metrics.items()}


def collect_outcome(folder: Path, metrics: dict[str, float], module: ClassifierModule, machine: Machine) -> RunOutcome:
    """Collect the outcome of a finished run from the metrics of its test, from `module` and from its checkpoints."""
    last = read_checkpoint(folder / LAST)
    best = best_of(last, folder)
    assert best is not None, "a finished run has had a dev pass"
    with checkpoint_errors(folder / LAST):
        state = last["callbacks"]["ResumePoint"]
        passes, train_seconds = dev_passes(state), float(state["train_seconds"])
    return RunOutcome(
        test_accuracy=metrics["test/accuracy"],
        test_loss=metrics["test/loss"],
        test_correct=torch.cat(module.correct).numpy(),
        confusion=module.confusion,
        trained_steps=int(last["global_step"]),
        best_dev_accuracy=best.accuracy,
        best_step=best.step,
        train_seconds=train_seconds,
        dev_curve=passes,
        # The machine's device: Lightning has moved the module to the CPU.
        peak_memory_bytes=max(int(state["peak_memory_bytes"]), peak_memory_bytes(machine.device)),
        batch_parts=machine.accumulate_grad_batches,
        parameters=count_parameters(module.model),
    )
