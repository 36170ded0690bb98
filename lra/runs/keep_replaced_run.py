"""`force=true`: keep a finished run under another name, so that it can be trained again in its folder."""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

from lra.runs.files import RESULT
from lra.runs.record import read_record
from lra.runs.run_lock import RUNNER, TRAINING, LeasedError
from lra.runs.schema import Record


def set_aside(folder: Path, record: Record | None) -> None:
    """Move the files of a finished run into a folder beside its own; the caller holds the run's lease.

    The lock files stay. The record is moved last: after a kill in between, the run still counts as finished, and the
    next `force=true` moves the other files to the same place.

    Args:
        folder: the run's folder; nothing is moved if it has no record.
        record: the record that is to be replaced; None if the run had none.

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
    """Choose a folder that is named after the time when the run ended, and that holds no other finished run."""
    name = f"{folder.name}.replaced-{re.sub('[^0-9]', '', finished_at)[:14]}"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(place for place in map(folder.with_name, names) if not (place / RESULT).exists())
