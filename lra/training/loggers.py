"""Log to W&B: a run's curves and result, the tables and figures of a sweep."""

from __future__ import annotations

import importlib.util
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytorch_lightning.loggers import WandbLogger

from lra.files import replace_text
from lra.run_files import WANDB_ID
from lra.training.wandb_server import begin_online
from lra.types import UserError

if TYPE_CHECKING:
    import wandb

WANDB_MODES = ("offline", "online", "disabled")
WHEN_UNREACHABLE = ("fail", "offline")


def start_wandb(
    folder: Path,
    *,
    project: str,
    entity: str | None,
    mode: Literal["offline", "online", "disabled"],
    when_unreachable: Literal["fail", "offline"],
    init_timeout_seconds: int,
    name: str,
    group: str,
    job_type: str,
    tags: list[str],
    config: dict[str, object],
) -> wandb.Run:
    """Begin a W&B run that writes below `folder`, or continue it with the W&B id in `folder`.

    Args:
        folder: the run's folder.
        project, entity, name, group, job_type, tags, config: arguments of `wandb.init`.
        mode: whether data is sent during the run, kept for later, or not logged at all.
        when_unreachable: with `mode="online"`, whether to fail or to go offline when W&B's server cannot be used.
        init_timeout_seconds: time that the server has to begin the run, above 0.

    Raises:
        UserError: for an unknown mode, a wrong timeout or a damaged W&B id, when wandb is not installed, and when its
            server cannot be used.
    """
    for key, value, known in (("mode", mode, WANDB_MODES), ("when_unreachable", when_unreachable, WHEN_UNREACHABLE)):
        if value not in known:
            raise UserError(f"logger.wandb.{key}={value} is not known; choose one of {', '.join(known)}")
    if init_timeout_seconds <= 0:
        raise UserError(
            f"logger.wandb.init_timeout_seconds={init_timeout_seconds}, but W&B needs some time;"
            " type for example logger.wandb.init_timeout_seconds=30"
        )
    if importlib.util.find_spec("wandb") is None:
        raise UserError("wandb is not installed; type logger=csv to do without, or: pip install wandb")
    import wandb

    def init(mode: Literal["offline", "online", "disabled"]) -> wandb.Run:
        return wandb.init(
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
            settings=wandb.Settings(
                console="off", silent=True, x_disable_stats=True, init_timeout=init_timeout_seconds
            ),
        )

    return begin_online(init, folder, when_unreachable=when_unreachable) if mode == "online" else init(mode)


def wandb_logger(run: wandb.Run) -> WandbLogger:
    """Make Lightning's logger for a W&B run."""
    return WandbLogger(experiment=run)


def log_result(record: Mapping[str, Any], curve: Path) -> None:
    """Add a record's numbers, its confusion matrix and the learning curve to the open W&B run."""
    import wandb

    assert wandb.run is not None
    counts = record["outcome"]["confusion"]
    names = [str(label) for label in range(len(counts))]
    matrix = wandb.Table(
        columns=["Actual", "Predicted", "nPredictions"],
        data=[[names[i], names[j], count] for i, row in enumerate(counts) for j, count in enumerate(row)],
    )
    fields = {str(name): name for name in matrix.columns}
    wandb.run.log(
        {
            "test/confusion": wandb.plot_table("wandb/confusion_matrix/v1", matrix, fields, {"title": "test"}),
            "learning_curve": wandb.Image(str(curve)),
        }
    )
    sections = {key: record[key] for key in ("outcome", "cost", "approximation") if key in record}
    for section, values in sections.items():
        for key, value in values.items():
            if isinstance(value, int | float | str) and key != "test_correct":
                wandb.run.summary[f"{section}/{key}"] = value


def log_table(name: str, columns: tuple[str, ...], rows: list[list[str]], figures: list[Path]) -> None:
    """Add a table and figures to the open W&B run."""
    import wandb

    assert wandb.run is not None
    table = wandb.Table(columns=list(columns), data=rows)
    wandb.run.log({name: table, **{f"figures/{figure.stem}": wandb.Image(str(figure)) for figure in figures}})


def wandb_id(folder: Path) -> str:
    """Return the run's W&B id, eight hex digits, which is drawn once and kept in the run's folder.

    Raises:
        UserError: when the file holds no such id.
    """
    path = folder / WANDB_ID
    kept = path.read_text(errors="replace") if path.exists() else ""
    if re.fullmatch(r"[0-9a-f]{0,7}", kept):  # no id, or a part of one: a kill came before anything was logged
        kept = secrets.token_hex(4)
        replace_text(path, kept)
    if not re.fullmatch(r"[0-9a-f]{8}", kept):
        raise UserError(f"{path} holds {kept[:40]!r}, not the eight hex digits of a W&B id; delete it for a new one")
    return kept


def finish_wandb() -> None:
    """Close the open W&B run, so that this process can begin another one."""
    import wandb

    wandb.finish()
