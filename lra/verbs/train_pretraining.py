"""The first stage of a run with `pretrain=masked`: its encoder predicts what is masked of the training part.

It has a folder of its own in the run's, with checkpoints and curves, and resumes as exactly as a run. The classifier's
training begins with the encoder's best weights on dev, and with the random numbers of a run without this stage.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytorch_lightning as pl
from pytorch_lightning.loggers.logger import Logger
from rich.console import Console
from rich.text import Text
from torch import nn

from lra.base.processes import is_out_of_memory
from lra.from_config import machine_and_loggers
from lra.from_config.pretraining import build_masked_model, build_pretraining
from lra.model.classifier import SequenceClassifier
from lra.model.masked_model import without_mask
from lra.run import Run
from lra.runs.files import BEST, LAST, METRICS, PRETRAINING
from lra.runs.schema import Pretraining
from lra.settings.pretrain import stage_config
from lra.settings.run_config import RunConfig
from lra.training import run as training
from lra.training.checkpoints import (
    best_of,
    checkpoint_errors,
    read_checkpoint,
    read_matching_weights,
    report_saved_step,
    saved_step,
)
from lra.training.loggers import CurveLogger, finish_wandb
from lra.training.loop_settings import LoopSettings, TrainerAdditions
from lra.training.resume import saved_dev_passes
from lra.types import UserError
from lra.verbs.train_pretrained_from import read_source


def pretrain(cfg: RunConfig, run: Run, console: Console, *, is_first_rank: bool) -> bool:
    """Train the encoder to predict what is masked, from the stage's last checkpoint if there is one.

    Returns:
        Whether the stage has reached its last step; if not, `trainer.max_time` has ended it.

    Raises:
        UserError: as `lra.from_config.pretraining.build_pretraining`; when a batch does not fit into memory.
    """
    stage, folder = stage_config(cfg), run.folder / PRETRAINING
    pl.seed_everything(cfg.seed, workers=True, verbose=False)
    module, datamodule = build_pretraining(stage)
    begun = saved_step(folder / LAST)
    if begun < stage.recipe.steps:
        masked = f"{stage.pretrain.fraction:.0%} of the positions masked"
        steps = f"{stage.recipe.steps:,} steps of {stage.recipe.batch_size}"
        going_on = f", going on from step {begun:,}" if begun else ""
        console.print(Text.assemble((module.label, "bold"), f"  seed {cfg.seed}  {masked}  {steps}{going_on}"))
    folder.mkdir(parents=True, exist_ok=True)
    loggers = _loggers(cfg, run, begun) if is_first_rank and begun < stage.recipe.steps else []
    failed = True
    try:
        with report_saved_step(folder, stage.recipe.steps), _worded_out_of_memory(stage):
            complete = training.fit(
                module,
                datamodule,
                folder,
                machine_and_loggers.build_machine(stage),
                LoopSettings(
                    steps=stage.recipe.steps,
                    eval_every=stage.recipe.eval_every,
                    log_every_steps=cfg.callbacks.log_every_steps,
                    checkpoint_every_seconds=cfg.callbacks.checkpoint_every_seconds,
                ),
                TrainerAdditions(
                    loggers=loggers, arguments=machine_and_loggers.build_trainer_arguments(stage), console=console
                ),
            )
        failed = False
    finally:
        finish_wandb(loggers, failed=failed)
    return complete


def _loggers(cfg: RunConfig, run: Run, begun: int) -> list[Logger]:
    """Make the loggers of the stage, which goes on from step `begun`."""
    folder = run.folder / PRETRAINING
    passes = saved_dev_passes(folder) or {"step": [], "accuracy": []}
    by_step = dict(zip(passes["step"], passes["accuracy"], strict=True))
    curves = CurveLogger(folder / METRICS, resume_step=begun, passes=by_step)
    return machine_and_loggers.build_loggers_of_stage(cfg, run.folder, curves, PRETRAINING)


@contextmanager
def _worded_out_of_memory(stage: RunConfig) -> Iterator[None]:
    """Say what to type where a batch of the stage does not fit into memory."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        parts = stage.batch_parts
        line = f"out of memory while pretraining, with {stage.recipe.batch_size // parts} examples at a time"
        right = f"trainer.accumulate_grad_batches={2 * parts}"
        raise UserError(f"{line}; type {right}", kind="no_memory", right=right) from error


def begin_pretrained(model: nn.Module, cfg: RunConfig, run: Run) -> None:
    """Give a classifier the encoder that was pretrained in this run."""
    assert isinstance(model, SequenceClassifier)
    pretrained = build_masked_model(stage_config(cfg))
    weights = read_matching_weights(run.folder / PRETRAINING / BEST, pretrained)
    model.encoder.load_state_dict(without_mask(weights))


def pretraining_of(run: Run) -> Pretraining:
    """Read what a finished stage has reached from its checkpoints."""
    folder = run.folder / PRETRAINING
    last = read_checkpoint(folder / LAST)
    best = best_of(last, folder)
    assert best is not None, "a finished stage has had a dev pass"
    with checkpoint_errors(folder / LAST):
        seconds = float(last["callbacks"]["ResumePoint"]["train_seconds"])
    found = Pretraining(
        steps=int(last["global_step"]), best_step=best.step, dev_accuracy=best.accuracy, train_seconds=seconds
    )
    if (source := read_source(run)) is not None:
        found["taken_from"] = source
    return found
