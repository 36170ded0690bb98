"""Begin and end a W&B run with Lightning's logger, and send it each point of the curves once."""

from __future__ import annotations

import importlib.util
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from lra.base.files import read_file, replace_text
from lra.base.text import all_without_credentials
from lra.runs.files import METRICS, WANDB_ID
from lra.training.ranks import come_first
from lra.training.wandb_history import points_in_wandb, wait_until_written
from lra.training.wandb_server import begin_online
from lra.types import UserError

OWN = ("dir", "id", "resume", "reinit", "resume_from", "fork_from", "settings")  # what keeps a resumed run one W&B run


class CurvesInWandb(WandbLogger):
    """Lightning's W&B logger, which sends each point of a run's curves once over all resumes of the run.

    W&B's history can only be appended to, while a resumed run computes the points after its checkpoint again.

    Attributes:
        lost: whether W&B's own process has ended, so that nothing more is sent; the training goes on.
    """

    lost = False

    @cached_property
    def _earlier(self) -> set[tuple[int, str]]:
        assert self.save_dir is not None
        return points_in_wandb(Path(self.save_dir), str(self.version))

    @property
    def log_model(self) -> bool:
        """Whether the best checkpoint of the run is logged as an artifact."""
        return bool(self._log_model)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Send the metrics that W&B does not have at this step; metrics without a step are always sent."""
        points = {name: value for name, value in metrics.items() if (step, name) not in self._earlier}
        if points and not self.lost:
            with self.unless_lost():
                super().log_metrics(points, step)

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

    def catch_up(self, curves: list[dict[str, float]]) -> None:
        """Send the points that W&B lacks: of a killed process, of `logger=csv`, or of another W&B run.

        Args:
            curves: the rows of `metrics.csv`.
        """
        for row in curves:
            self.log_metrics({name: value for name, value in row.items() if name != "step"}, int(row["step"]))


def start_wandb(
    folder: Path,
    *,
    project: str,
    entity: str | None,
    mode: Literal["offline", "online"],
    when_unreachable: Literal["fail", "offline"],
    init_timeout_seconds: int,
    log_model: bool,
    name: str,
    group: str,
    job_type: str,
    tags: list[str],
    config: dict[str, object],
    **others: Any,
) -> CurvesInWandb:
    """Begin a W&B run that writes below `folder`, or continue it with the W&B id in `folder`.

    An agent of a W&B sweep gives the run its own id, project and entity.

    Args:
        folder: the run's folder.
        project, entity, name, group, job_type, tags, config: arguments of `wandb.init`.
        mode: whether data is sent during the run, or kept for later.
        when_unreachable: with `mode="online"`, whether to fail or to go offline when W&B's server cannot be used.
        init_timeout_seconds: time that the server has to begin the run, above 0.
        log_model: whether the best checkpoint of the run will be logged as an artifact.
        others: other arguments of `wandb.init`, such as `notes`.

    Raises:
        UserError: for an unknown argument or a damaged W&B id, when wandb is not installed,
            and when its server cannot be used.
    """
    if importlib.util.find_spec("wandb") is None:
        raise UserError("wandb is not installed; type logger=csv to do without, or: pip install wandb")
    import wandb

    free = set(signature(wandb.init).parameters) - set(OWN)
    for key in sorted(others.keys() - free):
        why = "set by lra itself" if key in OWN else f"no argument of wandb.init; there are {', '.join(sorted(free))}"
        raise UserError(f"logger.wandb.{key} is {why}; leave it out")

    def begin(mode: Literal["offline", "online"]) -> CurvesInWandb:
        logger = CurvesInWandb(
            name=name,
            save_dir=folder,
            project=project,
            entity=entity,
            mode=mode,
            id=wandb_id(folder),
            log_model=log_model,
            group=group,
            job_type=job_type,
            tags=tags,
            config=all_without_credentials(config),
            settings=wandb.Settings(console="off", silent=True, init_timeout=init_timeout_seconds),
            **others,
        )
        assert logger.experiment is not None  # Lightning begins the W&B run when it is asked for
        return logger

    sys.argv = all_without_credentials(sys.argv)  # W&B stores the command line
    wandb.setup(settings=wandb.Settings(silent=True))  # W&B warns of an argument that Lightning passes in vain
    come_first()  # else Lightning begins no run
    logger = begin_online(begin, folder, when_unreachable=when_unreachable) if mode == "online" else begin(mode)
    replace_text(folder / WANDB_ID, str(logger.version))
    return logger


def finish_wandb(loggers: Sequence[Logger], *, failed: bool = False) -> None:
    """Close the W&B run of `loggers`, so that this process can begin another one; W&B shows whether it has failed."""
    for logger in loggers:
        if isinstance(logger, CurvesInWandb) and not logger.lost:
            file = Path(logger.experiment.settings.sync_file)
            with logger.unless_lost():
                logger.experiment.finish(exit_code=int(failed))
                if not wait_until_written(file):
                    print(
                        f"W&B's process has not written the end of {file} yet."
                        " Resume this run later, or its curves are in W&B twice.",
                        file=sys.stderr,
                    )


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
        raise UserError(
            f"{path} holds {kept[:40]!r}, not a W&B id of eight letters and digits; delete it for a new one"
        )
    return kept
