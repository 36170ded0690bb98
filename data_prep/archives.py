"""Read the files of an archive, or of the folder that it was unpacked into, by the same functions.

Nothing is unpacked to disk. A member is refused if it is a link, if its path leads outside of the archive, if it is too
large, if it has the name of another one or a name that cannot be printed, or if reading its header would need much
memory or time. Links in a folder are followed within that folder. What archivers add of their own is skipped.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast

from data_prep.first_bytes import HEAD_BYTES, form_of, is_tar, refuse_form
from data_prep.xz import XzReader
from lra.base.files import regular_file
from lra.base.printed_commands import override
from lra.base.text import visible
from lra.types import UserError

Tick = Callable[[int, int | None], None]  # reports progress: the amount done, and the total amount
MB = 1_000_000
# What reading a damaged archive raises; gzip and bzip2 raise an OSError without a number, unlike the disk.
BROKEN = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)
CHUNK_BYTES = 1 << 20
LARGEST_HEADER_BYTES = 1 << 16  # for a header with a long name or with further facts about a file
MOST_GLOBAL_FACTS = 64
# Folders and files of archivers: extended headers that were unpacked as files, and what macOS adds.
ARCHIVERS_OWN = re.compile(r"(?:.*/)?(?:PaxHeaders?(?:\.\d+)?|GNUSparseFile\.\d+|__MACOSX|\._[^/]*|\.DS_Store)(?:/.*)?")
MOST_TIMES_LARGER, FREE_BYTES = 50, 1 << 26  # limit of the unpacked size; published archives grow 1 to 10 times


class Stream(Protocol):
    """What unpacked bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes, none at the end."""


OPENERS: Mapping[str, Callable[[IO[bytes], Path], Stream]] = {  # of compressions, by the name of their form
    "gzip": lambda raw, path: cast("Stream", gzip.GzipFile(fileobj=raw)),
    "bzip2": lambda raw, path: bz2.BZ2File(raw),
    "xz": XzReader,
    "lzma": XzReader,
}


def no_progress(done: int, total: int | None) -> None:
    """Report no progress, in place of a `Tick` that does."""


def read_files(
    path: Path, pattern: re.Pattern[str], *, largest_bytes: int, tick: Tick
) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the name's match and the content of each matching file, in the archive's order, or sorted in a folder.

    The pattern must match the whole name of a file, such as `aclImdb/train/pos/0_9.txt`. `tick` is called with the
    number of megabytes of the archive that were read, and with all of them.

    Raises:
        UserError: for a broken archive, an unsafe member, or a file that is too large.
    """
    for match, file, size in open_files(path, pattern, tick):
        if size > largest_bytes:
            raise UserError(
                f"{path}: {match.string} has {size:,} bytes, more than the {largest_bytes:,} that such a file has"
            )
        try:
            yield match, file.read()
        except BROKEN as error:
            raise broken(path, error) from error


def open_files(path: Path, pattern: re.Pattern[str], tick: Tick) -> Iterator[tuple[re.Match[str], IO[bytes], int]]:
    """Yield the name's match, the open file and the size of each matching file; read it before taking the next one.

    Raises:
        UserError: when the archive is damaged, unpacks to far too much, or has links or paths that lead outside.
    """
    if path.is_dir():
        yield from _in_folder(path, pattern, tick)
        return
    total = path.stat().st_size // MB
    try:
        # Not tarfile's own gzip reader: it does not notice a stream that is cut off between two members.
        with (
            path.open("rb") as raw,
            _open_tar(stream := _Bounded(raw, _decompressed(raw, path))) as archive,
        ):
            names: set[str] = set()
            for member in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all members in memory
                tick(raw.tell() // MB, total)
                name = str(PurePosixPath(member.name))
                if member.size < 0:
                    raise tarfile.ReadError(f"{visible(name)} has {member.size:,} bytes")
                match = pattern.fullmatch(name)
                if match is None or ARCHIVERS_OWN.fullmatch(name):
                    continue
                if name in names or not name.isprintable():
                    raise tarfile.ReadError(f"{visible(name)} is there twice, or no name")
                names.add(name)
                if member.name.startswith("/") or ".." in PurePosixPath(member.name).parts or not member.isreg():
                    raise UserError(f"{path}: {member.name} is a link, or leads outside; fetch it again")
                file = archive.extractfile(member)
                assert file is not None
                yield match, file, member.size
            while not stream.at_end and stream.read(CHUNK_BYTES):
                pass  # read to the end, where gzip compares the checksum
    except BROKEN as error:
        raise broken(path, error) from error


def _open_tar(stream: _Bounded) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=_Member)


class _Member(tarfile.TarInfo):
    """A tar member with a limit on the size of its header; tarfile would read a header of any size into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        headers = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)
        if self.type in (*headers, tarfile.SOLARIS_XHDTYPE) and not 0 <= self.size <= LARGEST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes, more than {LARGEST_HEADER_BYTES:,}")
        if len(archive.pax_headers) > MOST_GLOBAL_FACTS:
            raise tarfile.ReadError(f"more than {MOST_GLOBAL_FACTS} facts about all files")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("a file with holes")
        try:
            member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]  # tarfile's documented hook
        except (RecursionError, ValueError) as error:  # nested headers; a field that is no number
            raise tarfile.ReadError(f"a header that is none ({type(error).__name__})") from error
        if member.sparse is not None:
            raise tarfile.ReadError("a file with holes")
        return member


class _Bounded:
    """The unpacked stream of an archive; raises an error if it becomes too long, or is read again after its end."""

    def __init__(self, raw: IO[bytes], stream: Stream):
        self.raw, self.stream = raw, stream
        self.unpacked_bytes, self.at_end = 0, False

    def read(self, size: int) -> bytes:
        """Read the next bytes, none at the end."""
        if self.at_end:  # tarfile would try to read for ever
            raise EOFError("it ends within a file")
        content = self.stream.read(size)
        self.at_end = not content
        self.unpacked_bytes += len(content)
        if self.unpacked_bytes > MOST_TIMES_LARGER * self.raw.tell() + FREE_BYTES:
            raise tarfile.ReadError(f"it unpacks to more than {MOST_TIMES_LARGER} times its size")
        return content


def _decompressed(raw: IO[bytes], path: Path) -> Stream:
    """Return the stream of the tar in an open file, at its beginning.

    Raises:
        UserError: for a file that is no tar and holds none.
    """
    form = form_of(raw.read(HEAD_BYTES))
    raw.seek(0)
    if not form.archive:
        raise refuse_form(str(path), form, "a tar archive")
    stream = OPENERS[form.name](raw, path) if form.name in OPENERS else raw
    head = b""
    while len(head) < HEAD_BYTES and (content := stream.read(HEAD_BYTES - len(head))):
        head += content
    if not is_tar(head):
        raise refuse_form(f"what is in {path}", form_of(head), "a tar archive")
    return _Pushed(head, stream)


class _Pushed:
    """A stream whose first bytes were read already, and are given again."""

    def __init__(self, head: bytes, stream: Stream):
        self.head, self.stream = head, stream

    def read(self, size: int) -> bytes:
        """Read the next bytes, none at the end."""
        content, self.head = self.head[:size], self.head[size:]
        return content or self.stream.read(size)


def _in_folder(path: Path, pattern: re.Pattern[str], tick: Tick) -> Iterator[tuple[re.Match[str], IO[bytes], int]]:
    count = 0
    for folder, _, names in _walk(path):
        for name in sorted(names):
            file = Path(folder, name)
            inside = file.relative_to(path).as_posix()
            match = pattern.fullmatch(f"{path.name}/{inside}")
            if match is None or ARCHIVERS_OWN.fullmatch(inside):
                continue
            if file.is_symlink():
                refuse_outside(file, path)
            count += 1
            tick(count, None)
            with regular_file(file).open("rb") as opened:
                yield match, opened, file.stat().st_size


def _walk(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk through a folder as `os.walk`, also through linked folders, through each once."""
    followed = {os.path.realpath(path)}
    for folder, folders, names in os.walk(path, onerror=_raise, followlinks=True):
        folders.sort()
        for linked in [Path(folder, name) for name in folders if os.path.islink(os.path.join(folder, name))]:
            refuse_outside(linked, path)
            target = os.path.realpath(linked)
            if target in followed:
                folders.remove(linked.name)
            followed.add(target)
        yield folder, folders, names


def lines(file: IO[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a text file, without a byte order mark before the first and without blank lines at the end.

    A line longer than `most_bytes` is given in parts of this size.
    """
    blank = 0
    for number, line in enumerate(iter(partial(file.readline, most_bytes), b"")):
        content = line if number else line.removeprefix(codecs.BOM_UTF8)
        if not content.strip(b"\r\n"):
            blank += 1
            continue
        yield from (b"\n" for _ in range(blank))
        blank = 0
        yield content


def refuse_outside(path: Path, folder: Path) -> None:
    """Refuse what lies in a folder that the user named, if a link leads from there to a place outside.

    Raises:
        UserError: with the link.
    """
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        below = [part for part in (*reversed(path.parents), path) if folder in part.parents]
        link = next(part for part in below if part.is_symlink())
        raise UserError(
            f"{link} is a link that leads outside of {folder}: to {os.path.realpath(link)}; name that, or copy it there"
        )
    if not path.exists():
        raise UserError(f"{path} is a link to nothing; remove it, or put there what it is to name")


def innermost(path: Path, parents: Mapping[str, str]) -> str:
    """Return the parent that is inside all others.

    Args:
        path: an archive or a folder.
        parents: what stands before a data set where it was found, such as `lra_release/`, and with it the folder of the
            data, such as `lra_release/pathfinder32`.

    Raises:
        UserError: when one of them is not inside another.
    """
    *outer, inner = sorted(parents, key=lambda parent: (len(parent), parent))
    for parent in outer:
        if not inner.startswith(parent):
            raise two_folders(path, [parents[parent], parents[inner]])
    return inner


def two_folders(path: Path, folders: list[str]) -> UserError:
    """Make the error for an archive or a folder that has the same data set in several folders."""
    first, second = (folder or "." for folder in folders[:2])
    if path.is_dir():  # the names of what is in a folder begin with its own
        remedy = f"name one of them: {override('source', path.parent / second)}"
    else:
        remedy = f"unpack it, and name the folder to read: {override('source', f'/path/to/{second}')}"
    line = f"{path} has both {first} and {second}, and none is inside the other's parent; {remedy}"
    return UserError(line, kind="two_folders", key=str(path), value=folders)


def _raise(error: OSError) -> None:
    raise error


def broken(path: Path, error: Exception) -> Exception:
    """Make the error to raise for a broken archive; an error of the disk is returned unchanged."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return UserError(f"{path} is truncated or damaged ({error}); fetch it again", kind="damaged_archive", key=str(path))


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    """Write files into a gzipped archive for a stand-in, and return its path."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
