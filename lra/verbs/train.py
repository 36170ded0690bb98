"""lra train: train one attention on one task, test the checkpoint with the best dev accuracy, record the result.

  lra train                                          ListOps, Nyström, the paper's 5,000 steps
  lra train task=listops attention=full seed=1
  lra train protocol=clean attention.num_landmarks=128
  lra train mixer=s4d                                a state-space layer in place of attention
  lra train -m attention=full,nystrom seed=0,1,2     all six, one after the other
  lra train size=tiny logger=csv                     a smoke test of a few seconds
  lra train trainer=ddp trainer.devices=2            two processes, each with half of every batch (DDP)
  lra train trainer=gpu compile=reduce-overhead      with CUDA graphs
  lra train trainer=gpu trainer.precision=tf32       or bf16-mixed, 16-mixed; float32 is the default
  lra train experiment=demo                          the README's demo

The result goes to runs/<group>/<task>/<attention>/<settings>/seed<k>/result.json ($LRA_RUNS_DIR for another place).
Missing data is prepared first. After Ctrl-C or a kill, the same command resumes the run; the result is bit-identical
to that of an uninterrupted run (CPU). Last, the errors of Nyström's attention matrices are added to the result;
without them, after a kill for example, the run is finished all the same.

  task=listops|text|retrieval|image|pathfinder|pathx
  attention=nystrom|full|…       lra show attentions lists them
  mixer=s4d|gated                another sequence mixer in place of attention; its options are mixer.KEY
  protocol=paper|clean           size=full|short|tiny
  recipe.steps=N                 length of the run and its schedule
  trainer.max_steps=N            stop early, with no result
  logger=wandb|csv               logger.wandb.mode=online sends to W&B at once
  force=true                     train a finished run again
  check=true                     compare the prepared data with its hashes first (only this finds a damaged byte)
  trainer.data_on_device=true    keep the data in the device's memory; the default with trainer=gpu
  lra train --cfg job            prints every option
"""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lra.runs.files import BEST, CONFIG, LAST, METRICS, RESULT

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.data.datamodule import StoreDataModule
    from lra.runs.schema import Record
    from lra.training.curve_logger import CurveLogger
    from lra.training.machine import Machine
    from lra.training.module import ClassifierModule


def run(cfg: DictConfig) -> float | None:
    """Train, test and record a run; show the result of a finished run.

    Returns:
        The best dev accuracy, a fraction in [0, 1], for Hydra's sweepers; None if the run was stopped before its end.
    """
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from lra.base.processes import end_with, end_with_pool
    from lra.runs.record import read_record
    from lra.settings import config
    from lra.terminal.console import make_console
    from lra.training.ranks import is_launched, rank
    from lra.types import UserError
    from lra.verbs.train_on_devices import train_together
    from lra.verbs.train_summary import print_summary
    from lra.verbs.write_predictions import print_predictions

    console = make_console()
    launched, first = is_launched(cfg.trainer.devices), rank(cfg.trainer.devices) == 0
    if launched:
        end_with(os.getppid())
    end_with_pool()
    folder = config.run_dir(cfg)
    record = read_record(folder)
    if record is not None and cfg.force and launched:
        raise UserError(
            f"force=true and processes that torchrun or srun has started: some would look for {folder} before it is"
            " renamed; move it away, or type lra train trainer=ddp … force=true without them"
        )
    if record is not None and not cfg.force:
        sweeping = HydraConfig.get().mode is RunMode.MULTIRUN
        if not sweeping and cfg.finished != "show":
            raise UserError(
                f"this run has a result already: {record['outcome']['test_accuracy']:.2%} in {folder};"
                " to train it again type force=true (the old folder is kept beside the new one)"
            )
        _clear_leftover(folder)
        console.print(f"Finished before, nothing to train: {folder}")
        print_summary(console, folder, record)
        print_predictions(console, cfg, folder, cfg.predictions)
        return record["outcome"]["best_dev_accuracy"]
    from lra.training.module import NonFiniteLossError  # imports torch, which a finished run does not need

    is_trial = HydraConfig.get().sweeper.get("direction") is not None
    try:
        if cfg.trainer.devices > 1 and not launched:
            train_together(cfg, folder, console, replaced=record)
        else:
            console.quiet = not first  # only one of several processes prints
            _train(cfg, folder, console, replaced=record)
    except NonFiniteLossError as error:
        if not is_trial:
            raise
        console.print(f"a failed trial, whose dev accuracy counts as 0: {error}")
        return 0.0  # Optuna would end the search at an error, and the same command would meet it again
    record = read_record(folder)
    if record is None and first and is_trial:
        raise UserError(
            "a trial of a search was stopped before its end, so it has no dev accuracy to compare; for shorter trials"
            " type recipe.steps=N, in place of trainer.max_steps or trainer.max_time"
        )
    return None if record is None else record["outcome"]["best_dev_accuracy"]


def _clear_leftover(folder: Path) -> None:
    """Delete what a kill has left of adding to the record, unless another process is adding to it."""
    from lra.base.files import unfinished_file
    from lra.runs.run_lock import is_locked

    unfinished = unfinished_file(folder / RESULT)
    if unfinished.exists() and not is_locked(folder):
        with suppress(OSError):  # in another user's folder it stays
            unfinished.unlink()


def _train(cfg: DictConfig, folder: Path, console: Console, *, replaced: Record | None) -> None:
    from lra import build
    from lra.build import trainer as build_trainer
    from lra.build.store import ensure_store
    from lra.data.store import verify_store
    from lra.runs.run_lock import lock_run
    from lra.settings import config
    from lra.training.checkpoints import says_what_is_saved
    from lra.training.machine import quiet_lightning
    from lra.training.memory import release_memory
    from lra.training.ranks import rank
    from lra.verbs.train_parts import TooLargeError, first_parts
    from lra.verbs.train_summary import print_summary
    from lra.verbs.write_predictions import print_predictions

    quiet_lightning()
    build_trainer.build_machine(cfg)
    build.check_classes(cfg)
    ensure_store(cfg, console)
    first = rank(cfg.trainer.devices) == 0
    with lock_run(folder) if first else nullcontext(), says_what_is_saved(folder, cfg.recipe.steps):
        if first and cfg.check:
            verify_store(config.store_dir(cfg))
        parts = first_parts(cfg, folder) if replaced is None else config.batch_parts(cfg)
        record, fits = None, False
        while not fits:
            try:
                record, fits = _attempt(cfg, folder, console, parts, replaced=replaced), True
            except TooLargeError as error:
                parts = error.parts
            if not fits:
                replaced = None  # its folder is renamed by now
                release_memory()
                console.print(
                    f"out of memory: begun again with {parts} parts of {cfg.recipe.batch_size // parts} examples;"
                    f" a step still has {cfg.recipe.batch_size}"
                )
    if record is not None:
        print_summary(console, folder, record)
        print_predictions(console, cfg, folder, cfg.predictions)


def _attempt(cfg: DictConfig, folder: Path, console: Console, parts: int, *, replaced: Record | None) -> Record | None:
    """Train with the batch in `parts` parts; raise `TooLargeError` if it does not fit and more parts may be tried."""
    import pytorch_lightning as pl
    from omegaconf import OmegaConf
    from rich.text import Text

    from lra import build
    from lra.base.files import replace_text
    from lra.base.text import without_credentials
    from lra.build import trainer as build_trainer
    from lra.model.classifier import count_parameters
    from lra.runs.run_lock import keep_replaced_run
    from lra.settings import config
    from lra.training.ranks import rank
    from lra.verbs.write_record import check_same_data, note_commit

    split = cfg.copy()
    split.trainer.accumulate_grad_batches = parts
    pl.seed_everything(cfg.seed, workers=True, verbose=False)
    datamodule = build.build_datamodule(split)
    module = build.build_module(split)
    if rank(cfg.trainer.devices) == 0:
        keep_replaced_run(folder, replaced)
        replace_text(folder / CONFIG, without_credentials(OmegaConf.to_yaml(split, resolve=True)))
        check_same_data(folder, datamodule.data_sha256)
        note_commit(folder)
    parameters = count_parameters(module.model)
    console.print(
        Text.assemble(
            (f"{cfg.task.name}/{config.method_name(cfg)}", "bold"),
            f"  protocol {cfg.protocol.name}  seed {cfg.seed}"
            f"  {parameters:,} parameters  {cfg.recipe.steps:,} steps of {cfg.recipe.batch_size}"
            f"  on {cfg.trainer.accelerator}\n{folder}",
        )
    )
    return _fit_and_test(cfg, folder, console, module, datamodule, build_trainer.build_machine(split), parameters)


def _fit_and_test(
    cfg: DictConfig,
    folder: Path,
    console: Console,
    module: ClassifierModule,
    datamodule: StoreDataModule,
    machine: Machine,
    parameters: int,
) -> Record | None:
    from lra.build import trainer as build_trainer
    from lra.training import run as training
    from lra.training.checkpoints import saved_step
    from lra.training.curves import read_curves
    from lra.training.loggers import finish_wandb
    from lra.training.memory import is_out_of_memory, release_memory
    from lra.training.ranks import leave, rank
    from lra.training.wandb_results import log_numbers, log_result
    from lra.types import UserError
    from lra.verbs.train_parts import TooLargeError, more_parts
    from lra.verbs.write_record import add_approximation, write_result

    arguments = build_trainer.build_trainer_arguments(cfg)
    behind = saved_step(folder / LAST)
    if behind:
        console.print(f"Going on from step {behind:,}.")
    failed, record = False, None
    first = rank(cfg.trainer.devices) == 0
    curves = folder / METRICS
    loggers = build_trainer.build_loggers(cfg, folder, _curve_logger(folder, behind, console)) if first else []
    try:
        complete = training.fit(
            module,
            datamodule,
            folder=folder,
            machine=machine,
            steps=cfg.recipe.steps,
            eval_every=cfg.recipe.eval_every,
            max_steps=cfg.trainer.max_steps,
            log_every_steps=cfg.callbacks.log_every_steps,
            checkpoint_every_seconds=cfg.callbacks.checkpoint_every_seconds,
            loggers=loggers,
            console=console,
            profiler=cfg.debug.profiler,
            callbacks=build_trainer.build_callbacks(cfg),
            trainer_arguments=arguments,
        )
        if not complete:
            leave()
            console.print(
                f"Stopped at step {saved_step(folder / LAST):,} of {cfg.recipe.steps:,}, as {_limit(cfg)} says;"
                " no result is written. The same command without it goes on."
            )
            return None
        metrics = training.test(
            module,
            datamodule,
            checkpoint=folder / BEST,
            machine=machine,
            loggers=loggers,
            trainer_arguments=arguments,
        )
        leave()
        if not first:
            return None
        outcome = training.finish(folder, metrics, module, machine)  # reads the peak memory, before what may need more
        record = write_result(cfg, folder, outcome, datamodule, parameters, read_curves(curves))
        log_result(loggers, record, folder)
        # What follows may be killed: the run is finished, and its result is where it belongs.
        record = add_approximation(record, folder, module.model, datamodule.test_dataloader, machine.device, console)
        log_numbers(loggers, record)
        return record
    except BaseException as error:
        failed = record is None
        if record is not None or not isinstance(error, RuntimeError | MemoryError) or not is_out_of_memory(error):
            raise
        # Out of memory is handled below: here `error` still holds the tensors of the failed step in memory.
    finally:
        finish_wandb(loggers, failed=failed)
    more = more_parts(cfg, folder, module, machine.accumulate_grad_batches)
    if more is not None:
        raise TooLargeError(more)
    release_memory()
    module.to(machine.device)  # Lightning moves it to the CPU after an error
    raise UserError(_what_fits(cfg, module, machine.accumulate_grad_batches))


def _curve_logger(folder: Path, behind: int, console: Console) -> CurveLogger:
    """Go on with the curves; put back and name the dev passes that their file has lost since the checkpoint."""
    from lra.training.curve_logger import CurveLogger
    from lra.training.resume import saved_passes

    passes = saved_passes(folder) or {"step": [], "accuracy": []}
    by_step = dict(zip(passes["step"], passes["accuracy"], strict=True))
    logger = CurveLogger(folder / METRICS, resume_step=behind, passes=by_step)
    if logger.put_back:
        console.print(
            f"{folder / METRICS} had lost the dev passes at step {', '.join(f'{step:,}' for step in logger.put_back)};"
            f" {LAST} has their accuracies, which are put back. What else was lost there is missing in the curves."
        )
    return logger


def _limit(cfg: DictConfig) -> str:
    """Name the setting that stopped the training."""
    return "trainer.max_steps" if cfg.trainer.max_steps is not None else "trainer.max_time"


def _what_fits(cfg: DictConfig, module: ClassifierModule, parts: int) -> str:
    """Word the error of a run that does not fit into memory, with the number of examples that do fit."""
    from lra import build
    from lra.training.compiled import GRAPH_MODES
    from lra.training.memory import parts_that_fit

    batch = cfg.recipe.batch_size // cfg.trainer.devices  # of one process
    line = f"out of memory with {batch // parts} examples at a time; the last checkpoint is kept"
    fits = parts_that_fit(module, build.build_spec(cfg), batch_size=batch, parts=parts)
    if fits is None:
        return f"{line}. Not even one example fits: choose another attention=, or a smaller size="
    line, proposed = f"{line}. {batch // fits} fit (tried)", f"trainer.accumulate_grad_batches={fits}"
    if cfg.get("compile") in GRAPH_MODES:
        line, proposed = f"{line}, but CUDA graphs (compile={cfg.compile}) take no parts", f"{proposed} compile=true"
    return f"{line}: {proposed}, a run of its own"
