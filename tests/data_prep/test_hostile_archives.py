"""Archives that ask for memory or time: refused in one line, before they have it."""

import gc
import gzip
import io
import re
import subprocess
import sys
import tarfile

import pytest

from data_prep.archives import LARGEST_HEADER_BYTES, read_files, write_tar
from lra.types import UserError
from tests.conftest import ROOT

LARGE = 1 << 28
CHILD_BYTES = 100 << 20  # far below what the archives ask for, above what reading needs


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    """A tar header block of any type and size."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def sparse(blocks: int) -> bytes:
    """An old GNU sparse header that goes on for many blocks."""
    first = bytearray(header(tarfile.GNUTYPE_SPARSE, 0))
    first[482] = 1  # more blocks follow
    first[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(first))[0]
    entry = b"00000000001\x0000000000001\x00"
    return bytes(first) + (entry * 21 + b"\x01" + bytes(7)) * blocks


def pax(records: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A pax header with these records."""
    return header(kind, len(records)) + records + bytes(-len(records) % 512)


def numbered_keys(start: int, count: int) -> bytes:
    return b"".join(b"15 k%08d=1\n" % i for i in range(start, start + count))


BOMBS = {
    "pax": [header(tarfile.XHDTYPE, LARGE), *[bytes(1 << 20)] * 256],
    "global pax": [header(tarfile.XGLTYPE, LARGE), *[bytes(1 << 20)] * 256],
    "long name": [header(tarfile.GNUTYPE_LONGNAME, LARGE), *[b"x" * (1 << 20)] * 256],
    "long link": [header(tarfile.GNUTYPE_LONGLINK, LARGE), *[b"x" * (1 << 20)] * 256],
    "sparse": [sparse(0), *[sparse(2000)[512:]] * 100],
    "sparse as pax": [
        pax(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"),
        header(tarfile.REGTYPE, LARGE),
        b"9" * 512,
    ],
    "many global keys": [
        pax(numbered_keys(i * 4000, 4000), tarfile.XGLTYPE) + header(tarfile.REGTYPE, 0) for i in range(200)
    ],
    "headers of headers": [header(tarfile.GNUTYPE_LONGNAME, 2) + b"y\0" + bytes(510)] * 5000,
    "a number that is none": [pax(b"21 GNU.sparse.size=x\n"), header(tarfile.REGTYPE, 0)],
    "a size without end": [header(tarfile.REGTYPE, 1 << 62)],
}


def read(path, largest_bytes=100):
    files = read_files(path, re.compile("a/.*"), largest_bytes=largest_bytes, tick=lambda done, total: None)
    return {match.string: content for match, content in files}


def run_in_child(path) -> subprocess.CompletedProcess[str]:
    """Read an archive in a process that may not grow."""
    code = (
        "import re, resource, sys, numpy\n"
        "from data_prep.archives import read_files\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (used + {CHILD_BYTES},) * 2)\n"
        "from pathlib import Path\n"
        "files = read_files(Path(sys.argv[1]), re.compile('a/.*'), largest_bytes=100, tick=lambda *_: None)\n"
        "try:\n"
        "    print(len(list(files)), 'files')\n"
        "except ValueError as error:\n"
        "    print(type(error).__name__, error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, 'MiB', file=sys.stderr)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, cwd=ROOT, check=False
    )


@pytest.mark.some_fast(4)
@pytest.mark.parametrize("name", BOMBS)
def test_an_archive_that_asks_for_memory_or_time_is_refused(tmp_path, name):
    path = tmp_path / "x.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for part in BOMBS[name]:
            file.write(part)
    done = run_in_child(path)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.startswith("UserError"), done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert "fetch it again" in done.stdout


@pytest.mark.slow
def test_members_that_were_read_are_not_kept(tmp_path):
    with (tmp_path / "x.tar").open("wb") as file:
        file.write(header(tarfile.REGTYPE, 0, "b/unwanted") * 1000 + bytes(1024))
    alive = []

    def count(done, total):
        if len(alive) == 900:
            gc.collect()
        alive.append(
            sum(issubclass(type(item), tarfile.TarInfo) for item in gc.get_objects()) if len(alive) == 900 else 0
        )

    assert list(read_files(tmp_path / "x.tar", re.compile("a/.*"), largest_bytes=100, tick=count)) == []
    assert len(alive) == 1000
    assert max(alive) < 10, "900 when all are kept"


def test_what_real_archives_have_is_read(tmp_path):
    name = "a/" + "/".join(["é" * 60] * 8)
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "x.tar", "w", format=form, pax_headers={"comment": "0" * 40}) as opened:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = 3, 1.5
            opened.addfile(member, io.BytesIO(b"abc"))
        assert read(tmp_path / "x.tar") == {name: b"abc"}
    assert len(name.encode()) < LARGEST_HEADER_BYTES


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    path = write_tar(tmp_path / "x.tar.gz", {f"a/{i}": bytes(1 << 20) for i in range(100)})
    with pytest.raises(UserError, match="unpacks to more than 50 times its size"):
        read(path, largest_bytes=1 << 20)
    tar = gzip.decompress(write_tar(tmp_path / "y.tar.gz", {"a/0": b"abc"}).read_bytes())
    path.write_bytes(gzip.compress(tar + bytes(100 << 20)))
    with pytest.raises(UserError, match="unpacks to more than 50 times its size"):
        read(path, largest_bytes=1 << 20)
