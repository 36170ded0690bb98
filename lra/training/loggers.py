"""The W&B logger of a run."""

from __future__ import annotations

import importlib.util
import secrets
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning.loggers import WandbLogger

from lra.types import UserError

WANDB_MODES = ("offline", "online", "disabled")


def wandb_logger(
    folder: Path,
    *,
    project: str,
    entity: str | None,
    mode: Literal["offline", "online", "disabled"],
    name: str,
    group: str,
    job_type: str,
    tags: list[str],
    config: dict[str, Any],
) -> WandbLogger:
    """Lightning's W&B logger, writing below `folder`; a resumed run keeps its W&B id.

    Raises:
        UserError: for an unknown mode, or when wandb is not installed.
    """
    if mode not in WANDB_MODES:
        raise UserError(f"logger.wandb.mode={mode} is not known; choose one of {', '.join(WANDB_MODES)}")
    if importlib.util.find_spec("wandb") is None:
        raise UserError("wandb is not installed; type logger=csv to do without, or: pip install wandb")
    import wandb

    run = wandb.init(
        name=name,
        dir=folder,
        project=project,
        entity=entity,
        mode=mode,
        id=wandb_id(folder),
        resume="allow",
        group=group,
        job_type=job_type,
        tags=tags,
        config=config,
        settings=wandb.Settings(console="off", silent=True, x_disable_stats=True),
    )
    return WandbLogger(experiment=run)


def wandb_id(folder: Path) -> str:
    """The run's W&B id, drawn once and kept in the folder."""
    path = folder / "wandb_id"
    if not path.exists():
        path.write_text(secrets.token_hex(4))
    return path.read_text()


def finish_wandb() -> None:
    """Close the W&B run, so that the next one of this process begins a new one."""
    import wandb

    wandb.finish()
