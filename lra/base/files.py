"""Write files and folders whole. Check what a file is, and what it is called.

A kill or a power cut leaves the old file or the new one; for a folder see `making_folder`.
"""

import errno
import glob
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lra.base.printed_commands import shell_command
from lra.types import UserError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no space, or more than a quota or a limit allows
LEFT_SECONDS = 3600.0  # a shared file's temporary path of this age has been left by a killed process
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)  # a folder of another user's, or a read-only disk
MOVE_AWAY = "move it away"
NOT_REGULAR = {"p": "pipe", "s": "socket", "c": "device", "b": "device", "d": "folder"}  # by the letter of `ls -l`
MOST_NAME_BYTES = 200  # file systems take 255, and endings such as those of lock files are added to a name


def delete_with_empty_parents(folder: Path, parents: Iterable[Path]) -> None:
    """Delete a folder, then its parents, the inmost first, up to one in which something is."""
    shutil.rmtree(folder, ignore_errors=True)
    for above in parents:
        try:
            above.rmdir()
        except OSError:  # something else is in it
            return


@contextmanager
def replacing(path: Path, *, shared: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which replaces `path` after the block, or is deleted after an error.

    With `shared` several processes may write the file at the same time, such as a table: each has a temporary
    path of its own. What a kill leaves of these is deleted after an hour.
    """
    unfinished = unfinished_file(path)
    if shared:
        unfinished = unfinished_file(path.with_name(f"{path.name}.{os.urandom(4).hex()}"))
        for leftover in path.parent.glob(f"{glob.escape(path.name)}.*.unfinished"):
            with suppress(FileNotFoundError):
                if time.time() - leftover.stat().st_mtime > LEFT_SECONDS:
                    leftover.unlink()
    unfinished.unlink(missing_ok=True)  # of a killed process: written through a link or a pipe, it would not be a file
    try:
        yield unfinished
        to_disk(unfinished)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def unfinished_file(path: Path) -> Path:
    """Return the temporary file in which `path` is written, which a killed process may leave."""
    return path.with_name(f"{path.name}.unfinished")


def unfinished_folder(folder: Path) -> Path:
    """Return the temporary folder in which `folder` is made, which a killed process may leave."""
    return folder.with_name(f".{folder.name}.unfinished")


def replaced_folder(folder: Path) -> Path:
    """Return the temporary place of an old folder while a new one replaces it; what is there is whole."""
    return folder.with_name(f".{folder.name}.replaced")


def restore_folder(folder: Path) -> None:
    """Move an old folder back to its place if nothing has taken it; no other process may be making the folder."""
    replaced = replaced_folder(folder)
    if replaced.exists() and not folder.exists():
        replaced.rename(folder)


def delete_temporary(folder: Path) -> None:
    """Delete both temporary folders; no other process may be making the folder."""
    unfinished, replaced = unfinished_folder(folder), replaced_folder(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    if replaced.exists():
        with suppress(OSError):  # deleted under the other name, so that after a kill no half is restored
            replaced.rename(unfinished)
            shutil.rmtree(unfinished)


@contextmanager
def making_folder(folder: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a temporary folder, which takes the place of `folder` after the block, or is deleted after an error.

    An old folder is renamed to `replaced_folder` before the new one is renamed to its place. After an error between the
    two the old one is moved back. A kill between them leaves nothing at `folder`, and both whole beside it: the next
    call with `replace` moves the old one back before its block, and `restore_folder` does so at any time. Only one
    process at a time may make the folder.

    Raises:
        OSError: without `replace`, when an old folder is not empty.
    """
    unfinished = unfinished_folder(folder)
    if replace:  # a killed process may have left folders
        restore_folder(folder)
        delete_temporary(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        for path in filter(Path.is_file, unfinished.rglob("*")):
            to_disk(path)
        if replace and folder.exists():
            folder.rename(replaced_folder(folder))
        os.replace(unfinished, folder)
        if replace:
            delete_temporary(folder)
    except BaseException:
        if replace:
            restore_folder(folder)
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def replace_bytes(path: Path, content: bytes | memoryview, *, shared: bool = False) -> None:
    """Replace a file's content atomically; `shared` as for `replacing`."""
    with replacing(path, shared=shared) as unfinished:
        unfinished.write_bytes(content)


def replace_text(path: Path, text: str, *, shared: bool = False) -> None:
    """Replace a text file's content atomically, in UTF-8; line ends stay as they are. `shared` as for `replacing`."""
    replace_bytes(path, text.encode(), shared=shared)


def to_disk(path: Path) -> None:
    """Wait until a written file is on the disk: else a power cut could keep a later rename but lose the content."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read_file(path: Path) -> bytes:
    """Read a file that a command has written, such as one of a run's folder.

    Raises:
        FileNotFoundError: when nothing is there.
        UserError: when something else than a regular file is in its place.
    """
    return regular_file(path, remedy=MOVE_AWAY).read_bytes()


def paths_below(top: Path) -> Iterator[Path]:
    """Yield all folders and files below a folder, none if it is not there.

    Raises:
        PermissionError: for a folder that cannot be listed, which `Path.rglob` takes for an empty one.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):  # it was renamed in the meantime
            raise error

    for folder, folders, files in os.walk(top, onerror=refuse):
        yield from (Path(folder, name) for name in (*folders, *files))


def sha256(path: Path) -> str:
    """Compute the hex SHA-256 digest of a file of any size; raise errors as `read_file` does."""
    with regular_file(path, remedy=MOVE_AWAY).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def regular_file(path: Path, typed: str | None = None, *, remedy: str = "name a file on disk") -> Path:
    """Return an existing path if it is a readable regular file; reading a pipe or a device may never end.

    Raises:
        UserError: for a folder, a pipe, a socket or a device, and for a file that cannot be read; with the file as
            `typed` and the `remedy`.
    """
    named = typed or str(path)
    try:
        kind = NOT_REGULAR.get(stat.filemode(path.stat().st_mode)[0])
        if kind:
            line = f"{named} is a {kind}, not a regular file; {remedy}"
            raise UserError(line, kind="special_file", key=named, value=kind)
        path.open("rb").close()
    except PermissionError as error:
        right = shell_command("chmod", "u+r", path)
        raise UserError(f"{named} cannot be read; type: {right}", kind="unreadable", key=named, right=right) from error
    return path


def checked_name(name: object, before: str, *, example: str, nested: bool = False) -> str:
    """Return the name as text, if it can be the name of a file or a folder, and with `nested` of one in a folder.

    Raises:
        UserError: for an empty or very long name, a hidden one, one that leads to another folder, and one with
            characters that are not printable; with the text before the name, such as `run_group=`, and a correct
            example.
    """
    text = str(name)
    parts = text.split("/") if nested else [text]
    if len(text.encode(errors="replace")) > MOST_NAME_BYTES:
        problem = f"is longer than {MOST_NAME_BYTES} bytes"
    elif any(not part or part[0] == "." or "/" in part or "\\" in part or not part.isprintable() for part in parts):
        problem = "is no name for a file or a folder"
    else:
        return text
    shown = text if len(text) <= MOST_NAME_BYTES else f"{text[:40]}…"
    line = f"{before}{shown} {problem}; type a word without /, for example {before}{example}"
    raise UserError(line, kind="bad_name", key=before.rstrip("="), value=name, right=example)
