"""Lock a run's folder, so that only one process works on the run, and keep a run that `force=true` replaces.

The lock belongs to the operating system (`flock`), or to the file server of a shared folder. It is released when its
process ends, for whatever reason. So no process has to guess whether the holder of a lock is still alive.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from lra.base.files import NOT_WRITABLE
from lra.runs.files import RESULT
from lra.runs.record import read_record
from lra.runs.schema import Record
from lra.types import UserError

NO_LOCK = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EISDIR)  # no process can hold a lock there
TRAINING = "lock"  # held by the process that trains
RUNNER = "runner.lock"  # held by the process of a sweep that starts the training process


class RunLockedError(UserError):
    """Raised when another process is at work on the run."""


@contextmanager
def lock_run(folder: Path, file: str = TRAINING, *, patience_seconds: float = 1.0) -> Iterator[None]:
    """Hold a lock on a run's folder, which is made if it does not exist.

    The default of `patience_seconds`, to wait for the lock, is longer than `is_locked` in another process holds it.

    Raises:
        RunLockedError: when another process holds the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / file)
    try:
        lock.acquire(timeout=patience_seconds)
    except Timeout as error:
        raise RunLockedError(
            f"another process is training this run: {folder}; wait for it, or choose another seed="
        ) from error
    try:
        yield
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Tell whether another process trains the run, or is about to; False if this process can lock nothing there."""
    try:
        for file in (RUNNER, TRAINING):
            if (folder / file).exists():
                with lock_run(folder, file, patience_seconds=0):
                    pass
    except RunLockedError:
        return True
    except OSError as error:
        if error.errno not in (*NOT_WRITABLE, *NO_LOCK):
            raise
    return False


def keep_replaced_run(folder: Path, record: Record | None) -> None:
    """Move the files of a finished run into a folder beside its own; the caller holds the run's lock.

    The lock files stay. The record is moved last: after a kill in between, the run still counts as finished, and the
    next `force=true` moves the other files to the same place. Without a record nothing is moved.

    Raises:
        RunLockedError: when another process has finished the run since `record` was read.
    """
    stored = read_record(folder)
    if stored is None:
        return
    if record is None or stored != record:
        raise RunLockedError(f"another process has just finished this run: {folder}")
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
