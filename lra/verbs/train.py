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
to that of an uninterrupted run (CPU). Last, the errors of Nyström's attention matrices are added to the result. After a
kill just before, the run is finished without them, and the same command adds them.

  task=listops|text|retrieval|image|pathfinder|pathx    or a probe, such as recall: lra show tasks lists them
  attention=nystrom|full|…       lra show attentions lists them
  mixer=s4d|gated|mamba2         another sequence mixer in place of attention; its options are mixer.KEY
  protocol=paper|clean|s4        size=full|short|tiny
  recipe.steps=N                 length of the run and its schedule
  pretrain=masked                first train the encoder on masked tokens of the task's own sequences; pretrain.KEY
  trainer.max_steps=N            stop early, with no result
  logger=wandb|csv               logger.wandb.mode=online sends to W&B at once
  force=true                     train a finished run again
  check=true                     compare the prepared data with its hashes first (only this finds a damaged byte)
  trainer.data_on_device=true    keep the data in the device's memory; the default with trainer=gpu
  lra train --cfg job            prints every option
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from lra.base.printed_commands import typed_command
from lra.base.probes import is_tested_longer
from lra.runs.files import BEST, RESULT
from lra.runs.schema import NYSTROM, TARGET, Record, is_ours
from lra.settings.run_config import RunConfig

if TYPE_CHECKING:
    from rich.console import Console

    from lra.run import Run
    from lra.verbs.train_summary import Trained


def run(cfg: RunConfig) -> Trained | float | None:
    """Train, test and record a run; read the result of a finished run.

    Returns:
        The finished run; None if it was stopped before its end, and in other ranks than the first. Where this process
        has started the ranks, of which the first has printed the result, the best dev accuracy alone.
    """
    from lra.base.processes import die_with_parent, die_with_pool_owner
    from lra.run import Run
    from lra.settings.application import is_one_of_several
    from lra.terminal.console import make_console
    from lra.training.ranks import check_launch, is_launched, rank
    from lra.types import UserError

    console = make_console()
    processes = cfg.num_processes
    launched, is_first_rank = is_launched(processes), rank(processes) == 0
    if launched:
        die_with_parent(os.getppid())
    die_with_pool_owner()
    run = Run.of(cfg)
    cfg = cfg.at(run.folder)
    record = run.record
    if record is not None and cfg.force and launched:
        line = (
            f"force=true and processes that torchrun or srun has started: some would look for {run.folder} before it is"
        )
        raise UserError(f"{line} renamed; move it away, or type without them: {typed_command('train')}")
    if record is not None and not cfg.force:
        completed = _completed(cfg, record, run, console) if is_first_rank else None
        if completed is not None:
            record = completed
        elif not is_one_of_several() and cfg.finished != "show":
            right = typed_command("train", "force=true")
            raise UserError(
                f"this run has a result already: {record.test_accuracy:.2%} in {run.folder};"
                f" to train it again type: {right}"
                " (the old folder is kept beside the new one)",
                kind="finished",
                key=str(run.folder),
                value=record.test_accuracy,
                right=right,
            )
        _clear_leftover(run)
        console.print(f"Finished before, nothing to train: {run.folder}")
        return _trained(cfg, run, record)
    check_launch(cfg.trainer.devices, cfg.trainer.num_nodes)
    from lra.verbs.train_attempt import train_on_devices, train_run  # torch, which a finished run does not need

    if processes > 1 and not launched:
        train_on_devices(cfg, run, console, replaced=record)
        record = run.record
        return None if record is None else record.best_dev_accuracy
    console.quiet = not is_first_rank  # only one of several processes prints
    record = train_run(cfg, run, console, replaced=record, is_first_rank=is_first_rank)
    return None if record is None else _trained(cfg, run, record)


def _trained(cfg: RunConfig, run: Run, record: Record) -> Trained:
    """Put together what is shown of a finished run."""
    from lra.verbs.train_summary import Trained, predict_examples

    predictions = predict_examples(cfg, run, cfg.predictions)
    return Trained(run=run, record=record, runs=cfg.paths.runs, predictions=predictions)


def _completed(cfg: RunConfig, record: Record, run: Run, console: Console) -> Record | None:
    """Add to the record of a finished run what a kill has left out; None if that is nothing."""
    completed = None
    if _may_lack_approximation(record, run):
        from lra.verbs.train_approximation import add_missing_approximation  # torch

        completed = add_missing_approximation(cfg, run, console)
        if completed is not None:
            console.print("A kill had left out the errors of its attention matrices; they are in its record now.")
    if _may_lack_longer(cfg, record, run):
        from lra.verbs.train_longer import add_missing_longer  # torch

        with_longer = add_missing_longer(cfg, run, console)
        if with_longer is not None:
            completed = with_longer
            console.print("A kill had left out the test on longer sequences; it is in its record now.")
    if _lacks_flops(record):
        from lra.verbs.train_record import add_flops  # torch

        with_flops = run.add_missing(_lacks_flops, lambda lacking: add_flops(lacking, run, cfg, console))
        if with_flops is not None:
            completed = with_flops
            console.print("A kill had left out the FLOPs of both stages; they are in its record now.")
    return completed


def _lacks_flops(record: Record) -> bool:
    """Tell whether the record of a pretrained run has been left without the FLOPs of its stages."""
    return record.pretraining is not None and "flops" not in record.pretraining


def _may_lack_longer(cfg: RunConfig, record: Record, run: Run) -> bool:
    """Tell whether the record may have been left without the test on longer sequences."""
    tested = is_tested_longer(cfg.task.name, cfg.model.get("positions", "learned"))
    return tested and "longer" not in record and (run.folder / BEST).is_file()


def _may_lack_approximation(record: Record, run: Run) -> bool:
    """Tell whether the record of a run with Nyström attention may have been left without the errors of its matrices."""
    target = record.settings.get("attention", {}).get(TARGET)
    has_some = target == NYSTROM or not is_ours(target)  # a class of a user's own may be derived from it
    return has_some and "approximation" not in record and (run.folder / BEST).is_file()


def _clear_leftover(run: Run) -> None:
    """Delete what a kill has left of adding to the record, unless another process is adding to it."""
    from lra.base.files import unfinished_file

    unfinished = unfinished_file(run.folder / RESULT)
    if unfinished.exists() and not run.locked:
        with suppress(OSError):  # in another user's folder it stays
            unfinished.unlink()
