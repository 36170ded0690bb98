"""One run on several devices: `lra train trainer=ddp`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.results.schema import Record


def train_together(cfg: DictConfig, folder: Path, console: Console, *, replaced: Record | None) -> None:
    """Train in as many processes as there are devices; this one only starts them and waits.

    `replaced` is the result that the run has and that `force=true` replaces.
    """
    from hydra.core.hydra_config import HydraConfig

    from lra import build
    from lra.cli_support.set_aside import set_aside
    from lra.cli_support.store import ensure_store
    from lra.sweeps.lease import LeasedError, lease
    from lra.training.checkpoints import says_what_is_saved
    from lra.training.together import run_together
    from lra.types import BUSY, UserError

    ensure_store(cfg, console)
    build.build_datamodule(cfg, build.build_spec(cfg))  # says what is wrong once, not once per process
    with lease(folder):  # says at once if another process has it; the first of the processes holds it then
        set_aside(folder, replaced)
    with says_what_is_saved(folder, cfg.recipe.steps):
        code, error = run_together(cfg.trainer.devices, list(HydraConfig.get().overrides.task))
    if code:
        raise LeasedError(error) if code == BUSY else UserError(error)
