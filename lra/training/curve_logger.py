"""Write a run's curves, into a file that stays correct when the run is killed and resumed."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from lra.base.files import replace_text
from lra.training.curves import COLUMNS, read_curves


class CurveLogger(Logger):
    """Appends one row per logged point to `metrics.csv`.

    Lightning's CSVLogger deletes the rows of an earlier process of the same run. This logger keeps them up to the step
    from which the run resumes, and drops later rows. It also drops the row of a test, because the test is repeated.

    Args:
        path: the CSV file.
        resume_step: optimizer steps before the checkpoint that the run resumes from.
        passes: accuracy of each dev pass before that checkpoint, by its step. If the file has lost some since, they
            are put back.

    Attributes:
        put_back: steps of the dev passes that the file had lost.

    Raises:
        UserError: when the existing file is not a table of curves.
    """

    def __init__(self, path: Path, *, resume_step: int, passes: Mapping[int, float] | None = None):
        super().__init__()
        self.path = path
        kept = [row for row in read_curves(path) if row["step"] <= resume_step and "test/accuracy" not in row]
        there = {row["step"] for row in kept if "dev/accuracy" in row}
        self.put_back = [step for step in passes or {} if step not in there]
        kept += [{"step": step, "dev/accuracy": (passes or {})[step]} for step in self.put_back]
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

    @property
    def version(self) -> str:
        """Empty: a run has one file, without versions."""
        return ""

    @rank_zero_only
    def log_hyperparams(self, *args: object, **kwargs: object) -> None:
        """Do nothing: the run's folder has the configuration."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Append the known columns of `metrics`."""
        row = {key: value for key, value in metrics.items() if key in COLUMNS}
        if row:
            with self.path.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow({"step": step, **row})
