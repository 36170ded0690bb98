"""Train one run on several devices: `lra train trainer=ddp`."""

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from lra import build
from lra.build import trainer as build_trainer
from lra.build.store import ensure_store
from lra.runs.files import RESULT
from lra.runs.run_lock import RunLockedError, keep_replaced_run, lock_run
from lra.runs.schema import Record
from lra.training.checkpoints import report_saved_step
from lra.training.ranks import spawn_ranks
from lra.types import LOCKED, UserError


def train_on_devices(cfg: DictConfig, folder: Path, console: Console, *, replaced: Record | None) -> None:
    """Start one training process per device and wait for all of them; `replaced` as for `train_run`.

    Raises:
        RunLockedError: when another process is at work on the run.
        UserError: when a training process has failed, with its error.
    """
    build_trainer.build_machine(cfg)  # this and the data module report a mistake once, not once per process
    ensure_store(cfg, console)
    build.build_datamodule(cfg)
    with lock_run(folder):  # fails now if another process has the run; later the process of rank 0 holds the lock
        keep_replaced_run(folder, replaced)
    # A file of a sweep or search among the overrides would make the processes begin it anew, were it not for the mode.
    with report_saved_step(folder, cfg.recipe.steps):
        code, error = spawn_ranks(cfg.trainer.devices, [*HydraConfig.get().overrides.task, "hydra.mode=RUN"])
    if code == LOCKED:
        raise RunLockedError(error)
    if code and (folder / RESULT).exists():
        console.print(f"Warning: a process ended after the result was written: {error}")
    elif code:
        raise UserError(error)
