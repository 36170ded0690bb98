"""Who runs a cell: the lock on its folder.

The lock is the operating system's (`flock`; on a shared folder the file server's), so it is gone with the process
that held it, however that ended, and no other process ever has to guess whether its holder is still alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lra.types import UserError

TRAINING = "lock"  # held by the process that trains
RUNNER = "runner.lock"  # held by the runner that has started it, or is about to


class LeasedError(UserError):
    """Another process is at work on the run."""


@contextmanager
def lease(folder: Path, file: str = TRAINING, *, patience_seconds: float = 1.0) -> Iterator[None]:
    """Hold a run's folder, which is made if it is not there; the patience outlasts one that only looks.

    Raises:
        LeasedError: when another process holds it.
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
    """Whether some other process has taken the run, to train it or to have it trained."""
    try:
        for file in (RUNNER, TRAINING):
            if (folder / file).exists():
                with lease(folder, file, patience_seconds=0):
                    pass
    except LeasedError:
        return True
    return False
