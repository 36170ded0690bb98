"""Read the files of an archive, or of the folder that it was unpacked into, by the same functions.

Nothing is unpacked to disk. A member is refused if it is a link, if its path leads outside of the archive, if it is too
large, if it has the name of another one or a name that cannot be printed, or if reading its header would need much
memory or time. Links in a folder are followed within that folder.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from lra.base.files import regular_file
from lra.base.text import visible
from lra.types import UserError

Tick = Callable[[int, int | None], None]  # reports progress: the amount done, and the total amount
MB = 1_000_000
BROKEN = (tarfile.TarError, EOFError, zlib.error)
CHUNK_BYTES = 1 << 20
LARGEST_HEADER_BYTES = 1 << 16  # for a header with a long name or with further facts about a file
MOST_GLOBAL_FACTS = 64
MOST_TIMES_LARGER, FREE_BYTES = 50, 1 << 26  # limit of the unpacked size; published archives grow 1 to 10 times


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
        except (*BROKEN, OSError) as error:
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
            _unzipped(raw) as unzipped,
            _open_tar(stream := _Bounded(raw, unzipped)) as archive,
        ):
            names: set[str] = set()
            for member in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all members in memory
                tick(raw.tell() // MB, total)
                name = str(PurePosixPath(member.name))
                if member.size < 0:
                    raise tarfile.ReadError(f"{visible(name)} has {member.size:,} bytes")
                match = pattern.fullmatch(name)
                if match is None:
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
    except (*BROKEN, OSError) as error:
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

    def __init__(self, raw: IO[bytes], stream: IO[bytes]):
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


def _unzipped(raw: IO[bytes]) -> IO[bytes]:
    zipped = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    return cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if zipped else raw


def _in_folder(path: Path, pattern: re.Pattern[str], tick: Tick) -> Iterator[tuple[re.Match[str], IO[bytes], int]]:
    count = 0
    for folder, _, names in _walk(path):
        for name in sorted(names):
            file = Path(folder, name)
            match = pattern.fullmatch(f"{path.name}/{file.relative_to(path).as_posix()}")
            if match is None:
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
        below = [place for place in (*reversed(path.parents), path) if folder in place.parents]
        link = next(place for place in below if place.is_symlink())
        raise UserError(
            f"{link} is a link that leads outside of {folder}: to {os.path.realpath(link)}; name that, or copy it there"
        )
    if not path.exists():
        raise UserError(f"{path} is a link to nothing; remove it, or put there what it is to name")


def innermost(path: Path, folder: str, parents: set[str]) -> str:
    """Return the parent that is inside all others.

    `folder` is a folder in `path`, such as `pathfinder32/curv_contour_length_14`; parents are what stands before it
    where it was found, such as `lra_release/`.

    Raises:
        UserError: when one of them is not inside another.
    """
    *outer, inner = sorted(parents, key=lambda parent: (len(parent), parent))
    for parent in outer:
        if not inner.startswith(parent):
            raise UserError(
                f"{path} has both {parent}{folder} and {inner}{folder}, and none is inside the other's parent; unpack"
                f" it, and name the folder to read: source=/path/to/{inner}{folder.split('/')[0]}"
            )
    return inner


def _raise(error: OSError) -> None:
    raise error


def broken(path: Path, error: Exception) -> Exception:
    """Make the error to raise for a broken archive; an error of the disk is returned unchanged."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return UserError(f"{path} is truncated, or no such archive ({error}); fetch it again")


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    """Write files into a gzipped archive for a stand-in, and return its path."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
