"""Reading the files of an archive, or of the folder it was unpacked into, one road for both.

Nothing is unpacked to disk. A member with a path that leads outside, or that is a link, is refused, and so is one that
is larger than such a file can be, or whose header asks for memory or for time without end.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast

from lra.files import regular_file
from lra.types import UserError

Tick = Callable[[int, int | None], None]  # how much is done, and of how much
MB = 1_000_000
BROKEN = (tarfile.TarError, EOFError, zlib.error)
CHUNK_BYTES = 1 << 20
LARGEST_HEADER_BYTES = 1 << 16  # of a long name, or of the further facts of a file
MOST_GLOBAL_FACTS = 64
MOST_TIMES_LARGER, FREE_BYTES = 50, 1 << 26  # unpacked; the published archives unpack to 1 to 10 times their size


def read_files(
    path: Path, pattern: re.Pattern[str], *, largest_bytes: int, tick: Tick
) -> Iterator[tuple[re.Match[str], bytes]]:
    """Match of the name and content of each wanted file, in the archive's order, or a folder's sorted one.

    Args:
        path: an archive, or a folder.
        pattern: what a whole name like `aclImdb/train/pos/0_9.txt` must match to be read.
        largest_bytes: what a wanted file may have.
        tick: called with the megabytes of the archive that were read, and all of them.

    Raises:
        UserError: for a broken archive, an unsafe member, a file that is too large.
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
    """Match of the name, open file and size of each wanted file; read it before going on to the next.

    Raises:
        UserError: when the archive is damaged, unpacks to far too much, or holds links or paths that lead outside.
    """
    if path.is_dir():
        yield from _in_folder(path, pattern, tick)
        return
    total = path.stat().st_size // MB
    try:
        # tarfile's own reader of gzip takes a stream that breaks off between two members for a whole one.
        with path.open("rb") as raw, _unzipped(raw) as stream, _open_tar(raw, stream) as archive:
            for member in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # it would keep every one
                tick(raw.tell() // MB, total)
                match = pattern.fullmatch(str(PurePosixPath(member.name)))
                if match is None:
                    continue
                if member.name.startswith("/") or ".." in PurePosixPath(member.name).parts or not member.isreg():
                    raise UserError(f"{path}: {member.name} is a link, or leads outside; fetch it again")
                file = archive.extractfile(member)
                assert file is not None
                yield match, file, member.size
            while stream.read(CHUNK_BYTES):
                pass  # to the checksum at the end
    except (*BROKEN, OSError) as error:
        raise broken(path, error) from error


def _open_tar(raw: IO[bytes], stream: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast("IO[bytes]", _Bounded(raw, stream)), mode="r|", tarinfo=_Member)


class _Member(tarfile.TarInfo):
    """A tar member whose header is read only if it is small; tarfile would read one of any size into memory."""

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
        except (RecursionError, ValueError) as error:  # headers of headers; a number that is none
            raise tarfile.ReadError(f"a header that is none ({type(error).__name__})") from error
        if member.sparse is not None:
            raise tarfile.ReadError("a file with holes")
        return member


class _Bounded:
    """What an archive unpacks to; says so when it is far more than any archive here, or asked for after its end."""

    def __init__(self, raw: IO[bytes], stream: IO[bytes]):
        self.raw, self.stream = raw, stream
        self.unpacked_bytes, self.at_end = 0, False

    def read(self, size: int) -> bytes:
        """The next bytes, none at the end."""
        if self.at_end:  # tarfile would go on asking
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
    for folder, folders, names in os.walk(path, onerror=_raise):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            match = pattern.fullmatch(f"{path.name}/{file.relative_to(path).as_posix()}")
            if match is None:
                continue
            if file.is_symlink():
                raise UserError(f"{file} is a link; copy the file itself there")
            count += 1
            tick(count, None)
            with regular_file(file).open("rb") as opened:
                yield match, opened, file.stat().st_size


def _raise(error: OSError) -> None:
    raise error


def broken(path: Path, error: Exception) -> Exception:
    """What to raise for a fault of the archive; a fault of the disk stays what it is."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return UserError(f"{path} is truncated, or no such archive ({error}); fetch it again")


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    """Write files into a gzipped archive, for the stand-ins; returns its path."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
