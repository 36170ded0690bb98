"""A lock file, which one process at a time holds; what a file system lacks for it, or a kill has left, is one line.

The lock belongs to the operating system (`flock`), or to the file server of a shared folder, and ends with its process.
Where the file system has no `flock` at all, the file itself is the lock, with the name of its holder in it. There
a kill, or a copy of a folder that comes from another file system, leaves a lock that nobody holds.
"""

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lra.base.files import DISK_FULL
from lra.base.printed_commands import shell_command
from lra.base.text import visible
from lra.types import UserError

PATIENCE_SECONDS = 2.0  # after which a process that waits for a lock says so
SHOWN = 80  # characters of the holder's name


class LockHeldError(Exception):
    """Raised when another process holds a lock, or seems to.

    `leftover` says how to delete a lock file that nobody holds; it is empty where the system ends a lock by itself.
    """

    def __init__(self, path: Path, leftover: str):
        super().__init__(f"another process holds {path}{leftover and '. '}{leftover}")
        self.leftover = leftover


class NoFileLocksError(UserError):
    """Raised when the file system refuses to lock a file."""

    def __init__(self, path: Path, error: OSError):
        refusal = os.strerror(error.errno or 0)
        super().__init__(
            f"files cannot be locked in {path.parent} (flock: {refusal}); what was there before is kept."
            " lra doctor names the folders; others, on another disk: export LRA_DATA_DIR=… or LRA_RUNS_DIR=…",
            kind="no_file_locks",
            key=str(path),
            value=errno.errorcode.get(error.errno or 0),
        )


@contextmanager
def file_lock(path: Path, *, seconds: float | None = None) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there and stays; its folder must be there.

    Args:
        path: the lock file.
        seconds: time to wait for another process; None: as long as it takes, and a line on standard error says so.

    Raises:
        LockHeldError: when another process holds the lock after that time.
        NoFileLocksError: when the file system refuses to lock a file.
    """
    lock = FileLock(path)
    with _refusals(path):
        try:
            lock.acquire(timeout=PATIENCE_SECONDS if seconds is None else seconds)
        except Timeout as error:
            held = LockHeldError(path, _leftover(path))
            if seconds is not None:
                raise held from error
            print(f"waiting: {held}", file=sys.stderr)
            lock.acquire()
    try:
        yield
    finally:
        with _refusals(path):
            lock.release()


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Word what `flock` refuses; errors of opening the file, which name it, are worded as those of other files."""
    try:
        yield
    except OSError as error:
        writes_the_holder = error.errno in DISK_FULL  # where the file itself is the lock
        if error.filename is not None or error.errno is None or writes_the_holder:
            raise
        raise NoFileLocksError(path, error) from error


def _leftover(path: Path) -> str:
    """Say how to delete the lock if nobody holds it, where the file itself is the lock."""
    if _has_flock(path):
        return ""
    holder = " on ".join(path.read_text(errors="replace").split()[:2]) if path.is_file() else ""
    named = visible(holder)[:SHOWN] or "no process"
    return (
        f"The lock names {named}; there is no flock on this file system, so it stays after a kill."
        f" If no process is at work, type: {shell_command('rm', path)}"
    )


def _has_flock(path: Path) -> bool:
    """Tell whether the file system of a lock file has `flock`; where it has none, filelock takes the file itself."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno != errno.ENOSYS
    return True
