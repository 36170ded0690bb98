"""Read a run's curves: one CSV file, which `lra.training.loggers.CurveLogger` writes."""

import csv
import io
from pathlib import Path

from lra.base.files import read_file
from lra.types import UserError

COLUMNS = (
    "step",
    "train/loss",
    "train/accuracy",
    "learning_rate",
    "steps_per_second",
    "tokens_per_second",
    "peak_memory_bytes",
    "dev/loss",
    "dev/accuracy",
    "test/loss",
    "test/accuracy",
)


def read_curves(path: Path) -> list[dict[str, float]]:
    """Read the rows of a `metrics.csv`, without empty cells; `[]` if there is no file.

    The last line is left out if a kill has cut it short.

    Raises:
        UserError: when the file is not a table of curves.
    """
    if not path.exists():
        return []
    try:
        text = read_file(path).decode()
        rows = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
        return [_numbers(row) for row in rows]
    except (ValueError, TypeError, KeyError, csv.Error) as error:
        raise UserError(f"{path} is no table of curves ({error}); move it away, the run does without") from error


def _numbers(row: dict[str, str]) -> dict[str, float]:
    return {"step": int(row.pop("step")), **{key: float(value) for key, value in row.items() if value}}
