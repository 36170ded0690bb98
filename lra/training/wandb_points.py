"""Which points of a run's curves W&B has been given, which W&B does not tell of an offline run."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from lra.base.files import read_file, replace_text
from lra.types import UserError


class SentPoints:
    """The points of a run's curves that W&B has been given, in a file of the run's folder: a line for each row.

    A line has the id of the W&B run, the step and the metrics; it is written once W&B's own process has taken the row.
    A line that a kill has cut short is deleted, so its points are sent again.

    Args:
        path: the file, which need not exist.

    Attributes:
        earlier: for each W&B run, step and metric of the points that earlier processes have sent; agents of W&B sweeps
            may have given the run's folder several ids.

    Raises:
        UserError: when the file has other lines.
    """

    def __init__(self, path: Path):
        self.path = path
        self.earlier: dict[str, set[tuple[int, str]]] = {}
        if not path.exists():
            return
        text = read_file(path).decode(errors="replace")
        whole_lines = text[: text.rfind("\n") + 1]
        try:
            for wandb_id, step, *names in csv.reader(io.StringIO(whole_lines)):
                points = {(int(step), name) for name in names}
                self.earlier.setdefault(wandb_id, set()).update(points)
        except (ValueError, csv.Error) as error:
            line = f"{path} is no list of points in W&B ({error}); delete it, and W&B gets the whole curve again"
            raise UserError(line, kind="foreign_file", key=str(path)) from error
        if text != whole_lines:
            replace_text(path, whole_lines)

    def add(self, wandb_id: str, step: int, names: Iterable[str]) -> None:
        """Append a row: the W&B run, the step and the names of the metrics."""
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([wandb_id, step, *names])
