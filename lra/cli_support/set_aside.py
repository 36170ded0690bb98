"""force=true: a finished run is moved aside, so that another can be trained in its place."""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

from lra.results.record import read_record
from lra.results.schema import Record
from lra.run_files import RESULT
from lra.sweeps.lease import RUNNER, TRAINING, LeasedError


def set_aside(folder: Path, record: Record | None) -> None:
    """Move what lies in `folder` beside it, unless the run has no result; call it while holding the lease.

    The locks stay, held as they are. The record goes last: after a kill in between, the run still counts as finished,
    and the next `force=true` moves the rest to the same place.

    Args:
        folder: of the run.
        record: the result that is to be replaced; None for a run without one.

    Raises:
        LeasedError: when another process has finished the run since `record` was read.
    """
    there = read_record(folder)
    if there is None:
        return
    if record is None or there != record:
        raise LeasedError(f"another process has just finished this run: {folder}")
    place = _place(folder, record["provenance"]["finished_at"])
    place.mkdir(exist_ok=True)
    names = sorted({path.name for path in folder.iterdir()} - {TRAINING, RUNNER}, key=lambda name: name == RESULT)
    for name in names:
        os.replace(folder / name, place / name)


def _place(folder: Path, finished_at: str) -> Path:
    """A folder named after the time of the run's end that does not hold another whole run."""
    name = f"{folder.name}.replaced-{re.sub('[^0-9]', '', finished_at)[:14]}"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(place for place in map(folder.with_name, names) if not (place / RESULT).exists())
