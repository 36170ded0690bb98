"""Lock a run's folder, so that only one process works on the run.

The lock belongs to the operating system (`flock`), or to the file server of a shared folder. It is released when its
process ends, for whatever reason. So no process has to guess whether the holder of a lock is still alive.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lra.base.files import NOT_WRITABLE
from lra.types import UserError

NO_LOCK = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EISDIR)  # no process can hold a lock there
TRAINING = "lock"  # held by the process that trains
RUNNER = "runner.lock"  # held by the process of a sweep that starts the training process


class LeasedError(UserError):
    """Raised when another process is at work on the run."""


@contextmanager
def lease(folder: Path, file: str = TRAINING, *, patience_seconds: float = 1.0) -> Iterator[None]:
    """Hold a lock on a run's folder, which is made if it does not exist.

    Args:
        folder: the run's folder.
        file: the lock file in it.
        patience_seconds: time to wait for the lock. The default is longer than `is_leased` in another process holds it.

    Raises:
        LeasedError: when another process holds the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / file)
    try:
        lock.acquire(timeout=patience_seconds)
    except Timeout as error:
        raise LeasedError(
            f"another process is training this run: {folder}; wait for it, or choose another seed="
        ) from error
    try:
        yield
    finally:
        lock.release()


def is_leased(folder: Path) -> bool:
    """Tell whether another process trains the run, or is about to; False if this process can lock nothing there."""
    try:
        for file in (RUNNER, TRAINING):
            if (folder / file).exists():
                with lease(folder, file, patience_seconds=0):
                    pass
    except LeasedError:
        return True
    except OSError as error:
        if error.errno not in (*NOT_WRITABLE, *NO_LOCK):
            raise
    return False
