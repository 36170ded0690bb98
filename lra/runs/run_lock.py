"""Lock a run's folder, so that only one process works on the run, and keep a run that `force=true` replaces.

A lock is released when its process ends, for whatever reason (see `lra.base.file_lock`). So no process has to guess
whether the holder of a lock is still alive.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from lra.base.file_lock import LockHeldError, NoFileLocksError, file_lock
from lra.base.files import NOT_WRITABLE
from lra.runs.files import RESULT
from lra.runs.record import read_record
from lra.runs.schema import Record
from lra.types import UserError

TRAINING = "lock"  # held by the process that trains
RUNNER = "runner.lock"  # held by the process of a sweep that starts the training process


class RunLockedError(UserError):
    """Raised when another process is at work on the run; `leftover` as in `LockHeldError`."""

    leftover = ""


@contextmanager
def lock_run(folder: Path, file: str = TRAINING, *, patience_seconds: float = 1.0) -> Iterator[None]:
    """Hold a lock on a run's folder, which is made if it does not exist.

    The default of `patience_seconds`, to wait for the lock, is longer than `is_locked` in another process holds it.

    Raises:
        RunLockedError: when another process holds the lock.
        NoFileLocksError: when the file system refuses to lock a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(file_lock(folder / file, seconds=patience_seconds))
        except LockHeldError as error:
            line = f"another process is training this run: {folder}; wait for it, or choose another seed="
            line = f"{line}{error.leftover and '. '}{error.leftover}"
            locked = RunLockedError(line, kind="run_locked", key=str(folder / file))
            locked.leftover = error.leftover
            raise locked from error
        yield


def is_locked(folder: Path) -> bool:
    """Tell whether another process trains the run, or is about to; False if this process can lock nothing there."""
    return locked(folder) is not None


def locked(folder: Path) -> RunLockedError | None:
    """Return the error of locking a run that another process trains or is about to; None where it is not locked."""
    try:
        for file in (RUNNER, TRAINING):
            if (folder / file).exists():
                with lock_run(folder, file, patience_seconds=0):
                    pass
    except RunLockedError as error:
        return error
    except NoFileLocksError:
        return None
    except OSError as error:
        if error.errno not in (*NOT_WRITABLE, errno.EISDIR):
            raise
    return None


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
    aside = _folder_aside(folder, record.provenance["finished_at"])
    aside.mkdir(exist_ok=True)
    names = sorted({path.name for path in folder.iterdir()} - {TRAINING, RUNNER}, key=lambda name: name == RESULT)
    for name in names:
        os.replace(folder / name, aside / name)


def _folder_aside(folder: Path, finished_at: str) -> Path:
    """Choose a folder that is named after the time when the run ended, and that holds no other finished run."""
    name = f"{folder.name}.replaced-{re.sub('[^0-9]', '', finished_at)[:14]}"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(aside for aside in map(folder.with_name, names) if not (aside / RESULT).exists())
