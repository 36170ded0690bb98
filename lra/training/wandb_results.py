"""Log what a W&B run has besides curves: a run's result and best checkpoint, the tables and figures of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lra.runs.files import BEST, CURVE

if TYPE_CHECKING:
    import wandb
    from pytorch_lightning.loggers.logger import Logger

    from lra.training.loggers import CurvesInWandb

SECTIONS = ("outcome", "cost", "approximation")  # of the record, whose numbers are logged


def log_result(loggers: Sequence[Logger], record: Mapping[str, Any], folder: Path) -> None:
    """Add a run's result to its W&B run, if `loggers` has one.

    The result is the record's numbers in the summary, the confusion matrix and the learning curve; with
    `logger.wandb.log_model=true` also `best.ckpt` as an artifact.
    """
    for logger in _of_wandb(loggers):
        with logger.unless_lost():
            _log_record(logger.experiment, record, folder / CURVE)
            if logger.log_model:
                _log_best(logger.experiment, record, folder / BEST)


def log_numbers(loggers: Sequence[Logger], record: Mapping[str, Any]) -> None:
    """Put the record's numbers into the summary of its W&B run, if `loggers` has one."""
    for logger in _of_wandb(loggers):
        with logger.unless_lost():
            logger.experiment.summary.update(_numbers(record))


def _of_wandb(loggers: Sequence[Logger]) -> list[CurvesInWandb]:
    from lra.training.loggers import CurvesInWandb

    return [logger for logger in loggers if isinstance(logger, CurvesInWandb) and not logger.lost]


def _log_record(run: wandb.Run, record: Mapping[str, Any], curve: Path) -> None:
    import wandb

    counts = record["outcome"]["confusion"]
    names = [str(label) for label in range(len(counts))]
    matrix = wandb.Table(
        columns=["Actual", "Predicted", "nPredictions"],
        data=[[names[i], names[j], count] for i, row in enumerate(counts) for j, count in enumerate(row)],
    )
    fields = {str(name): name for name in matrix.columns}
    run.log(
        {
            "test/confusion": wandb.plot_table("wandb/confusion_matrix/v1", matrix, fields, {"title": "test"}),
            "learning_curve": wandb.Image(str(curve)),
        }
    )
    run.summary.update(_numbers(record))


def _log_best(run: wandb.Run, record: Mapping[str, Any], checkpoint: Path) -> None:
    """Log the checkpoint under the name that Lightning's logger gives to a run's model."""
    import wandb

    artifact = wandb.Artifact(f"model-{run.id}", type="model", metadata={**record["identity"], **_numbers(record)})
    artifact.add_file(str(checkpoint))
    run.log_artifact(artifact, aliases=["best"])


def _numbers(record: Mapping[str, Any]) -> dict[str, int | float | str]:
    """Collect the record's numbers as `section/name`, without lists."""
    return {
        f"{section}/{key}": value
        for section in SECTIONS
        for key, value in record.get(section, {}).items()
        if isinstance(value, int | float | str) and key != "test_correct"
    }


def log_table(run: wandb.Run, name: str, columns: tuple[str, ...], rows: list[list[str]], figures: list[Path]) -> None:
    """Add a table and figures to a W&B run."""
    import wandb

    table = wandb.Table(columns=list(columns), data=rows)
    run.log({name: table, **{f"figures/{figure.stem}": wandb.Image(str(figure)) for figure in figures}})
