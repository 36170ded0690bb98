"""Train a run under its lock, from building the model to its record; with gradient accumulation if memory is short.

Or start one such training on each of several devices, as `lra train trainer=ddp` does.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import pytorch_lightning as pl
import torch
from rich.console import Console
from rich.text import Text

from lra.base.files import replace_text
from lra.base.processes import WARNING, is_out_of_memory
from lra.base.text import without_credentials
from lra.data.datamodule import StoreDataModule
from lra.data.store import verify_store
from lra.from_config import build_datamodule, build_module, build_spec, check_classes, machine_and_loggers
from lra.from_config.store import ensure_store
from lra.model.classifier import count_parameters
from lra.model.self_attention import SelfAttention
from lra.run import Run, RunLockedError
from lra.runs.files import BEST, CONFIG, LAST, METRICS, PRETRAINING, RESULT
from lra.runs.reference_curves import place_among, published_curves, references_of
from lra.runs.schema import Record
from lra.settings.application import own_overrides
from lra.settings.run_config import AUTO, RunConfig
from lra.settings.several_values import ONE_OF_SEVERAL
from lra.settings.which_run import config_hash, store_dir
from lra.training import run as training
from lra.training.checkpoints import report_saved_step, saved_step
from lra.training.compiled import GRAPH_MODES
from lra.training.loggers import CurveLogger, finish_wandb, log_numbers, log_result
from lra.training.loop_settings import LoopSettings, TrainerAdditions
from lra.training.machine import Machine, quiet_lightning
from lra.training.memory import next_parts, parts_that_fit, release_memory
from lra.training.module import ClassifierModule
from lra.training.ranks import leave_process_group, spawn_ranks
from lra.training.reference_place import ReferencePlace
from lra.training.resume import saved_batch_parts, saved_dev_passes
from lra.types import LOCKED, UserError
from lra.verbs.train_longer import add_longer
from lra.verbs.train_pretrained_from import find_source, take_pretraining
from lra.verbs.train_pretraining import begin_pretrained, pretrain, pretraining_of
from lra.verbs.train_record import add_approximation, add_flops, check_same_data, note_commit, write_result
from lra.verbs.train_refused import no_folder_if_refused

PARTS_OPTION = "trainer.accumulate_grad_batches"


class TooLargeError(Exception):
    """Raised when a batch does not fit into memory, with the number of parts that the run can begin again with."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The training of a run in this process.

    Attributes:
        cfg: the configuration, as it was typed.
        run: the run, which is locked.
        console: where to print.
        is_first_rank: whether this is the first, or only, one of the processes that train together. It alone writes
            files.
        begin: what is called when the training begins.
    """

    cfg: RunConfig
    run: Run
    console: Console
    is_first_rank: bool
    begin: Callable[[], object]


def train_run(
    cfg: RunConfig, run: Run, console: Console, *, replaced: Record | None, is_first_rank: bool
) -> Record | None:
    """Train, test and record a run, under its lock; with the batch in more parts where it does not fit into memory.

    `replaced` is the record that `force=true` replaces; None if the run has none. Only with `is_first_rank` the record
    is returned, if the run came to its end.

    Raises:
        RunLockedError: when another process is at work on the run.
        UserError: when the configuration, the data or the memory does not suffice.
        NonFiniteLossError: when the loss is not finite.
    """
    quiet_lightning()
    machine_and_loggers.build_machine(cfg)
    machine_and_loggers.check_loggers(cfg)
    check_classes(cfg)
    if cfg.taken_from is not None and not (run.folder / PRETRAINING / LAST).exists():
        find_source(cfg)  # it reports a mistake before data is prepared
    ensure_store(cfg, console)
    runs = cfg.paths.runs
    with (
        run.lock() if is_first_rank else nullcontext(),
        no_folder_if_refused(run, runs) if is_first_rank else nullcontext(_nothing) as begin,
        report_saved_step(run.folder, cfg.recipe.steps),
    ):
        if is_first_rank and cfg.check:
            verify_store(store_dir(cfg))
        attempt = Attempt(cfg=cfg, run=run, console=console, is_first_rank=is_first_rank, begin=begin)
        parts = _initial_parts(cfg, run) if replaced is None else cfg.batch_parts
        while True:
            try:
                record = _try(attempt, parts, replaced)
                break
            except TooLargeError as error:
                (parts,) = error.args
            replaced = None  # its folder is renamed by now
            release_memory()
            console.print(
                f"{WARNING}out of memory: begun again with {parts} parts of {cfg.recipe.batch_size // parts} examples;"
                f" a step still has {cfg.recipe.batch_size}"
            )
    return record


def train_on_devices(cfg: RunConfig, run: Run, console: Console, *, replaced: Record | None) -> None:
    """Start one training process per device and wait for all of them; `replaced` as for `train_run`.

    Raises:
        RunLockedError: when another process is at work on the run.
        UserError: when a training process has failed, with its error.
    """
    machine_and_loggers.build_machine(cfg)  # this and the data module report a mistake once, not once per process
    machine_and_loggers.check_loggers(cfg)
    ensure_store(cfg, console)
    build_datamodule(cfg)
    with run.lock():  # fails now if another process has the run; later the process of rank 0 holds the lock
        run.keep_aside(replaced)
    # A file of a sweep or search among the overrides would make the processes begin it anew, were it not for the mode.
    with report_saved_step(run.folder, cfg.recipe.steps):
        code, error = spawn_ranks(cfg.trainer.devices, [*own_overrides(), ONE_OF_SEVERAL])
    if code == LOCKED:
        raise RunLockedError(error)
    if code and (run.folder / RESULT).exists():
        console.print(f"{WARNING}a process ended after the result was written: {error}")
    elif code:
        raise UserError(error)


def _nothing() -> None:
    """Do nothing."""


def _try(attempt: Attempt, parts: int, replaced: Record | None) -> Record | None:
    """Train with the batch in `parts` parts; raise `TooLargeError` if it does not fit and more parts may be tried."""
    cfg, run = attempt.cfg.changed({PARTS_OPTION: parts}), attempt.run
    datamodule = build_datamodule(cfg)
    if attempt.is_first_rank:
        run.keep_aside(replaced)
        replace_text(run.folder / CONFIG, without_credentials(cfg.to_yaml()))
        check_same_data(run, datamodule.data_sha256)
        note_commit(run)
    in_first_stage = cfg.is_pretrained and not saved_step(run.folder / LAST)
    if in_first_stage and cfg.taken_from is not None:
        if attempt.is_first_rank:
            take_pretraining(cfg, run, attempt.console)
    elif in_first_stage and not pretrain(cfg, run, attempt.console, is_first_rank=attempt.is_first_rank):
        attempt.console.print("Stopped while pretraining; no result is written. The same command goes on.")
        return None
    pl.seed_everything(cfg.seed, workers=True, verbose=False)
    module = build_module(cfg)
    if in_first_stage:
        with torch.random.fork_rng(devices=[]):  # what the run draws is what it draws without the first stage
            begin_pretrained(module.model, cfg, run)
    attempt.console.print(
        Text.assemble(
            (module.label, "bold"),
            f"  protocol {cfg.protocol.name}  seed {cfg.seed}"
            f"  {count_parameters(module.model):,} parameters  {cfg.recipe.steps:,} steps of {cfg.recipe.batch_size}"
            f"  on {' '.join([cfg.trainer.accelerator, *machine_and_loggers.gpus_of_run(cfg)])}\n{run.folder}",
        )
    )
    if any(mixer.lacks_positions for mixer in module.model.modules() if isinstance(mixer, SelfAttention)):
        line = f"attention={cfg.method_name} uses no queries, so model.positions=rotary gives it no positions"
        attempt.console.print(f"{WARNING}{line}; for learned ones: model.positions=learned", highlight=False)
    return _fit_and_test(attempt, module, datamodule, machine_and_loggers.build_machine(cfg))


def _fit_and_test(
    attempt: Attempt, module: ClassifierModule, datamodule: StoreDataModule, machine: Machine
) -> Record | None:
    """Train, test and write the record; None if `trainer.max_steps` or `max_time` ended the run, or in other ranks."""
    cfg, run, console = attempt.cfg, attempt.run, attempt.console
    references = _references(cfg, datamodule.data_sha256)
    added = _trainer_additions(attempt, references)
    failed, record = False, None
    attempt.begin()
    try:
        complete = training.fit(
            module,
            datamodule,
            run.folder,
            machine,
            LoopSettings(
                steps=cfg.recipe.steps,
                eval_every=cfg.recipe.eval_every,
                max_steps=cfg.trainer.max_steps,
                log_every_steps=cfg.callbacks.log_every_steps,
                checkpoint_every_seconds=cfg.callbacks.checkpoint_every_seconds,
            ),
            added,
        )
        if not complete:
            leave_process_group()
            option = "trainer.max_steps" if cfg.trainer.max_steps is not None else "trainer.max_time"
            console.print(
                f"Stopped at step {saved_step(run.folder / LAST):,} of {cfg.recipe.steps:,},"
                f" as {option} says; no result is written. The same command without it goes on."
            )
            return None
        metrics = training.test(module, datamodule, run.folder / BEST, machine, added)
        leave_process_group()
        if not attempt.is_first_rank:
            return None
        # This reads the peak memory, before what may need more.
        outcome = training.collect_outcome(run.folder, metrics, module, machine)
        pretraining = pretraining_of(run) if cfg.is_pretrained else None
        record = write_result(run, cfg, outcome, datamodule, console, pretraining=pretraining)
        log_result(added.loggers, record, run.folder)
        # What follows may be killed: the run is finished, and its result is where it belongs.
        record = add_approximation(record, run, module.model, datamodule.test_dataloader, machine.device, console)
        record = add_flops(record, run, cfg, console)
        record = add_longer(record, run, cfg, module.model, machine, console)
        place_among_published = place_among(record.outcome["dev_curve"], references)
        with_place = {"place": place_among_published} if place_among_published else {}
        log_numbers(added.loggers, {**record, "outcome": {**record.outcome, **with_place}})
        return record
    except BaseException as error:
        failed = record is None
        if record is not None or not isinstance(error, RuntimeError | MemoryError) or not is_out_of_memory(error):
            raise
        # Out of memory is handled below: here `error` still holds the tensors of the failed step in memory.
    finally:
        finish_wandb(added.loggers, failed=failed)
    raise _error_out_of_memory(cfg, run, module, machine)


def _trainer_additions(attempt: Attempt, references: list[Record]) -> TrainerAdditions:
    """Make the loggers, and what the configuration adds to the Trainer; say from which step the training goes on."""
    cfg, run, console = attempt.cfg, attempt.run, attempt.console
    arguments = machine_and_loggers.build_trainer_arguments(cfg)
    callbacks = machine_and_loggers.build_callbacks(cfg)
    if references:
        callbacks.append(ReferencePlace(lambda passes: place_among(passes, references), console))
    resume_step = saved_step(run.folder / LAST)
    if resume_step:
        console.print(f"Going on from step {resume_step:,}.")
    loggers = []
    if attempt.is_first_rank:
        curves = _curve_logger(run, resume_step, console)
        loggers = machine_and_loggers.build_loggers(cfg, run.folder, curves)
    return TrainerAdditions(
        loggers=loggers, callbacks=callbacks, profiler=cfg.debug.profiler, arguments=arguments, console=console
    )


def _references(cfg: RunConfig, data_sha256: dict[str, str]) -> list[Record]:
    """The published runs of the same settings and data, and of other seeds."""
    settings_hash = config_hash(cfg)
    published = published_curves(cfg.paths.runs, settings_hash)
    return references_of(published, settings_hash, data_sha256, cfg.seed)


def _curve_logger(run: Run, resume_step: int, console: Console) -> CurveLogger:
    """Make the logger of the curves; restore dev passes that their file lacks and the checkpoint has."""
    passes = saved_dev_passes(run.folder) or {"step": [], "accuracy": []}
    by_step = dict(zip(passes["step"], passes["accuracy"], strict=True))
    logger = CurveLogger(run.folder / METRICS, resume_step=resume_step, passes=by_step)
    if logger.restored_steps:
        steps = ", ".join(f"{step:,}" for step in logger.restored_steps)
        console.print(
            f"{WARNING}{run.folder / METRICS} had lost the dev passes at step {steps};"
            f" {LAST} has their accuracies, which are put back. What else was lost there is missing in the curves."
        )
    return logger


def _error_out_of_memory(
    cfg: RunConfig, run: Run, module: ClassifierModule, machine: Machine
) -> TooLargeError | UserError:
    """Make the error of a run that does not fit into memory: with the next number of parts, or with what to type."""
    parts = machine.accumulate_grad_batches
    dev_size = cfg.trainer.dev_batch_size or 0
    if not module.training and dev_size > cfg.recipe.batch_size // parts:  # smaller parts would be of no use
        right = f"trainer.dev_batch_size={dev_size // 2}"
        line = f"out of memory in a dev pass with {dev_size} examples at a time; type {right}, a run of its own"
        return UserError(line, kind="no_memory", key="trainer.dev_batch_size", value=dev_size, right=right)
    # More parts would be another run if their number was typed, or a checkpoint has been written with this one.
    if cfg.trainer.accumulate_grad_batches == AUTO and not saved_step(run.folder / LAST):
        more = next_parts(cfg.recipe.batch_size, parts)
        if more is not None and machine_and_loggers.is_same_in_parts(cfg, module.model, more):
            return TooLargeError(more)
    release_memory()
    module.to(machine.device)  # Lightning moves it to the CPU after an error
    batch = cfg.recipe.batch_size // cfg.num_processes  # of one process
    line = f"out of memory with {batch // parts} examples at a time"
    fits = parts_that_fit(module, build_spec(cfg), batch_size=batch, parts=parts)
    if fits is None:
        line = f"{line}. Not even one example fits: choose another attention=, or a smaller size="
        return UserError(line, kind="no_memory")
    line, proposed = f"{line}. {batch // fits} fit (tried)", f"{PARTS_OPTION}={fits}"
    if cfg.compile in GRAPH_MODES:
        line, proposed = f"{line}, but CUDA graphs (compile={cfg.compile}) take no parts", f"{proposed} compile=true"
    return UserError(f"{line}: {proposed}, a run of its own", kind="no_memory", key=PARTS_OPTION, right=proposed)


def _initial_parts(cfg: RunConfig, run: Run) -> int:
    """Return the number of parts that a run begins with, or that of its checkpoint, whose position counts parts."""
    saved, typed = saved_batch_parts(run.folder), cfg.batch_parts
    if saved is None or saved == typed:
        return typed
    if cfg.trainer.accumulate_grad_batches != AUTO:
        raise UserError(
            f"{PARTS_OPTION}={typed}, but the run was begun with its batch in {saved} parts; to go on type"
            f" {PARTS_OPTION}={AUTO}, to begin again move {run.folder} away",
            kind="other_parts",
            key=PARTS_OPTION,
            value=typed,
            right=f"{PARTS_OPTION}={AUTO}",
        )
    return saved
