"""What goes to W&B: a run's curves and result, the tables and figures of a sweep."""

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
    """A W&B run that writes below `folder`; a resumed one keeps its W&B id.

    Args:
        folder: of the run.
        project, entity, name, group, job_type, tags, config: W&B's own.
        mode: whether it is sent while the run goes on.
        when_unreachable: what to do when it should be sent and W&B's server does not answer, or refuses.
        init_timeout_seconds: that a server which answers gets to begin the run.

    Raises:
        UserError: for an unknown word or timeout, when wandb is not installed, when its server cannot be used.
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
    """Lightning's logger on a W&B run."""
    return WandbLogger(experiment=run)


def log_result(record: Mapping[str, Any], curve: Path) -> None:
    """Add to the open W&B run what its record says, the confusion matrix of its test, and the learning curve."""
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
    """Add a table and pictures to the open W&B run."""
    import wandb

    assert wandb.run is not None
    table = wandb.Table(columns=list(columns), data=rows)
    wandb.run.log({name: table, **{f"figures/{figure.stem}": wandb.Image(str(figure)) for figure in figures}})


def wandb_id(folder: Path) -> str:
    """The run's W&B id, eight hex digits, drawn once and kept in the folder.

    Raises:
        UserError: when the file holds something else.
    """
    path = folder / WANDB_ID
    kept = path.read_text(errors="replace") if path.exists() else ""
    if re.fullmatch(r"[0-9a-f]{0,7}", kept):  # none, or cut short before anything was logged under it
        kept = secrets.token_hex(4)
        replace_text(path, kept)
    if not re.fullmatch(r"[0-9a-f]{8}", kept):
        raise UserError(f"{path} holds {kept[:40]!r}, not the eight hex digits of a W&B id; delete it for a new one")
    return kept


def finish_wandb() -> None:
    """Close the W&B run, so that the next one of this process begins a new one."""
    import wandb

    wandb.finish()
