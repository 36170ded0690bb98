"""What goes to W&B: a run's curves and result, the tables and figures of a sweep."""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning.loggers import WandbLogger

from lra.types import UserError

WANDB_MODES = ("offline", "online", "disabled")


def start_wandb(
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
) -> Any:
    """A W&B run that writes below `folder`; a resumed one keeps its W&B id.

    Raises:
        UserError: for an unknown mode, or when wandb is not installed.
    """
    if mode not in WANDB_MODES:
        raise UserError(f"logger.wandb.mode={mode} is not known; choose one of {', '.join(WANDB_MODES)}")
    if importlib.util.find_spec("wandb") is None:
        raise UserError("wandb is not installed; type logger=csv to do without, or: pip install wandb")
    import wandb

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
        settings=wandb.Settings(console="off", silent=True, x_disable_stats=True),
    )


def wandb_logger(run: Any) -> WandbLogger:
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
    """The run's W&B id, drawn once and kept in the folder."""
    path = folder / "wandb_id"
    if not path.exists():
        path.write_text(secrets.token_hex(4))
    return path.read_text()


def finish_wandb() -> None:
    """Close the W&B run, so that the next one of this process begins a new one."""
    import wandb

    wandb.finish()
