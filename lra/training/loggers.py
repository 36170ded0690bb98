"""The loggers of a run: its curves in a file, which stays correct when the run is killed and resumed, and in W&B."""

from __future__ import annotations

import csv
import io
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from lra.base.files import read_file, replace_text
from lra.base.text import all_without_credentials
from lra.runs.files import BEST, CURVE, METRICS, WANDB_ID, WANDB_POINTS
from lra.runs.schema import Record
from lra.training.curves import COLUMNS, read_curves
from lra.training.ranks import set_rank_zero
from lra.training.wandb_limits import SET_BY_LRA
from lra.training.wandb_points import SentPoints
from lra.training.wandb_server import begin_online
from lra.training.wandb_session import session_settings, warn_of_current_folder
from lra.types import UserError

if TYPE_CHECKING:
    import wandb

RECORD_SECTIONS = ("outcome", "cost", "approximation")  # of the record, whose numbers are logged


class OfCurves(Logger):
    """A logger of curves alone: it has no version, and the configuration is elsewhere."""

    @property
    def version(self) -> str:
        """Empty: a run has one file, and one W&B run."""
        return ""

    @rank_zero_only
    def log_hyperparams(self, *args: object, **kwargs: object) -> None:
        """Do nothing: the run's folder has the configuration, and its W&B run too."""


class CurveLogger(OfCurves):
    """Appends one row per logged point to `metrics.csv`.

    Lightning's CSVLogger deletes the rows of an earlier process of the same run. This logger keeps them up to
    `resume_step`, and drops later rows. It also drops the row of a test, because the test is repeated. Of `passes`, the
    accuracy of each dev pass before that step by its step, those that the file has lost are put back
    (`restored_steps`).

    Raises:
        UserError: when the existing file is not a table of curves.
    """

    def __init__(self, path: Path, *, resume_step: int, passes: Mapping[int, float] | None = None):
        super().__init__()
        self.path, passes = path, passes or {}
        kept = [row for row in read_curves(path) if row["step"] <= resume_step and "test/accuracy" not in row]
        passed_steps = {row["step"] for row in kept if "dev/accuracy" in row}
        self.restored_steps = [step for step in passes if step not in passed_steps]
        kept += [{"step": step, "dev/accuracy": passes[step]} for step in self.restored_steps]
        kept.sort(key=lambda row: row["step"])
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        replace_text(path, text.getvalue())

    @property
    def name(self) -> str:
        """The logger's name for Lightning."""
        return "curves"

    @property
    def save_dir(self) -> str:
        """The run's folder, below which a callback such as ModelCheckpoint writes its files."""
        return str(self.path.parent)

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Append the known columns of `metrics`."""
        row = {key: value for key, value in metrics.items() if key in COLUMNS}
        if row:
            with self.path.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow({"step": step, **row})


class CurvesInWandb(WandbLogger):
    """Lightning's W&B logger, which sends each point of a run's curves once over all resumes of the run.

    W&B's history can only be appended to, while a resumed run computes the points after its checkpoint again. What
    W&B's own process had taken and not yet written when it was killed is not sent again. `lost`: that process has
    ended, so nothing more is sent; the training goes on.

    Args:
        sent: what earlier processes have sent, and where this one notes what it sends.
        arguments: those of Lightning's logger.
    """

    def __init__(self, sent: SentPoints, **arguments: Any):
        super().__init__(**arguments)
        self._sent, self.lost = sent, False

    @property
    def log_model(self) -> bool:
        """Whether the best checkpoint of the run is logged as an artifact."""
        return bool(self._log_model)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Send the metrics that W&B has not been given at this step; metrics without a step are always sent."""
        wandb_id = str(self.version)
        earlier = self._sent.earlier.get(wandb_id, set())
        points = {name: value for name, value in metrics.items() if (step, name) not in earlier}
        if points and not self.lost:
            with self.unless_lost():
                super().log_metrics(points, step)
                if step is not None:
                    self._sent.add(wandb_id, step, points)

    @contextmanager
    def unless_lost(self) -> Iterator[None]:
        """Say it, and note it in `lost`, when W&B's process has ended, in place of an error."""
        try:
            yield
        except ConnectionError as error:
            self.lost = True
            print(
                f"W&B's process has ended ({error}). The run goes on without it; {METRICS} keeps the curves.",
                file=sys.stderr,
            )


def send_curves(logger: Logger, curves: list[dict[str, float]]) -> None:
    """Send the rows of a `metrics.csv` to a logger of W&B, which may lack those of a training with `logger=csv`."""
    for row in curves:
        logger.log_metrics({name: value for name, value in row.items() if name != "step"}, int(row["step"]))


class CurvesOfStage(OfCurves):
    """Sends the curves of a run's first stage to its W&B run, their names after the stage's: `pretraining/dev/loss`."""

    def __init__(self, of_run: CurvesInWandb, stage: str):
        super().__init__()
        self.of_run, self.stage = of_run, stage

    @property
    def name(self) -> str:
        """The logger's name for Lightning."""
        return self.stage

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Send the metrics that W&B has not been given at this step."""
        self.of_run.log_metrics({f"{self.stage}/{name}": value for name, value in metrics.items()}, step)


def start_wandb(
    folder: Path,
    *,
    mode: Literal["offline", "online"],
    when_unreachable: Literal["fail", "offline"],
    init_timeout_seconds: int,
    log_model: bool,
    config: dict[str, object],
    **arguments: Any,
) -> CurvesInWandb:
    """Begin a W&B run that writes below `folder`, or continue it with the W&B id in `folder`.

    An agent of a W&B sweep gives the run its own id, project and entity. Credentials in the config are masked.

    Args:
        when_unreachable: with `mode="online"`, whether to fail or to go offline when W&B's server cannot be used.
        init_timeout_seconds: time that the server has to begin the run, above 0.
        log_model: whether the best checkpoint of the run will be logged as an artifact.
        arguments: other arguments of `wandb.init`, such as `project`, `name`, `group`, `tags` and `notes`.

    Raises:
        UserError: for an unknown argument, a damaged W&B id or list of sent points, and when its server cannot be used.
    """
    import wandb

    unknown = sorted(arguments.keys() - signature(wandb.init).parameters.keys())
    if unknown:
        line = f"logger.wandb.{unknown[0]} is no argument of wandb.init in the installed wandb {wandb.__version__}"
        raise UserError(f"{line}; leave it out", kind="unknown_option", key=f"logger.wandb.{unknown[0]}")

    variables = ("WANDB_RUN_ID" if key == "id" else f"WANDB_{key.upper()}" for key in SET_BY_LRA)
    for variable in () if "WANDB_SWEEP_ID" in os.environ else set(variables) & os.environ.keys():
        print(f"{variable} has no effect: it is set by lra itself, so that a resumed run stays one", file=sys.stderr)

    sent = SentPoints(folder / WANDB_POINTS)

    def begin(mode: Literal["offline", "online"]) -> CurvesInWandb:
        logger = CurvesInWandb(
            sent,
            save_dir=folder,
            mode=mode,
            id=wandb_id(folder),
            log_model=log_model,
            config=all_without_credentials(config),
            settings=wandb.Settings(console="off", silent=True, init_timeout=init_timeout_seconds),
            **arguments,
        )
        assert logger.experiment is not None  # Lightning begins the W&B run when it is asked for
        return logger

    sys.argv = all_without_credentials(sys.argv)  # W&B stores the command line
    warn_of_current_folder()
    if session_settings().mode == "disabled":  # by the user's own settings file
        print(f"W&B is disabled here, but logger.wandb.mode={mode} counts; else type logger=csv", file=sys.stderr)
    set_rank_zero()  # else Lightning begins no run
    logger = begin_online(begin, folder, when_unreachable=when_unreachable) if mode == "online" else begin(mode)
    replace_text(folder / WANDB_ID, str(logger.version))
    return logger


def _open_wandb_loggers(loggers: Sequence[Logger]) -> list[CurvesInWandb]:
    of_runs = [logger.of_run if isinstance(logger, CurvesOfStage) else logger for logger in loggers]
    return [logger for logger in of_runs if isinstance(logger, CurvesInWandb) and not logger.lost]


def finish_wandb(loggers: Sequence[Logger], *, failed: bool = False) -> None:
    """Close the W&B run of `loggers`, so that this process can begin another one; W&B shows whether it has failed."""
    for logger in _open_wandb_loggers(loggers):
        with logger.unless_lost():
            logger.experiment.finish(exit_code=int(failed))


def wandb_id(folder: Path) -> str:
    """Return the run's W&B id, eight letters and digits, which is drawn once and kept in the run's folder.

    Raises:
        UserError: when the file holds no such id.
    """
    path = folder / WANDB_ID
    kept = read_file(path).decode(errors="replace") if path.exists() else ""
    if re.fullmatch(r"[0-9a-z]{0,7}", kept):  # no id, or a part of one: a kill came before anything was logged
        kept = secrets.token_hex(4)
        replace_text(path, kept)
    if not re.fullmatch(r"[0-9a-z]{8}", kept):
        line = f"{path} holds {kept[:40]!r}, not a W&B id of eight letters and digits; delete it for a new one"
        raise UserError(line)
    return kept


def log_result(loggers: Sequence[Logger], record: Record, folder: Path) -> None:
    """Add a run's result to its W&B run, if `loggers` has one.

    The result is the record's numbers in the summary, the confusion matrix and the learning curve; with
    `logger.wandb.log_model=true` also `best.ckpt` as an artifact.
    """
    for logger in _open_wandb_loggers(loggers):
        with logger.unless_lost():
            _log_record(logger.experiment, record, folder / CURVE)
            if logger.log_model:
                _log_best(logger.experiment, record, folder / BEST)


def log_numbers(loggers: Sequence[Logger], record: Mapping[str, Any]) -> None:
    """Put the record's numbers into the summary of its W&B run, if `loggers` has one."""
    for logger in _open_wandb_loggers(loggers):
        with logger.unless_lost():
            logger.experiment.summary.update(_numbers(record))


def _log_record(run: wandb.Run, record: Record, curve: Path) -> None:
    import wandb

    counts = record.outcome["confusion"]
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


def _log_best(run: wandb.Run, record: Record, checkpoint: Path) -> None:
    """Log the checkpoint under the name that Lightning's logger gives to a run's model."""
    import wandb

    artifact = wandb.Artifact(f"model-{run.id}", type="model", metadata={**record.identity, **_numbers(record)})
    artifact.add_file(str(checkpoint))
    run.log_artifact(artifact, aliases=["best"])


def _numbers(record: Mapping[str, Any]) -> dict[str, int | float | str]:
    """Collect the record's numbers as `section/name`, without lists."""
    return {
        f"{section}/{key}": value
        for section in RECORD_SECTIONS
        for key, value in record.get(section, {}).items()
        if isinstance(value, int | float | str) and key != "test_correct"
    }
