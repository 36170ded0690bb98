"""Archives: read whole or refused in one line; nothing leads outside."""

import io
import re
import tarfile

import pytest

from data_prep.archives import read_files, write_tar
from lra.types import UserError

FILES = {"a/1.txt": b"one", "a/2.txt": b"two", "b/3.txt": b"three"}


def read(path, largest_bytes=100):
    files = read_files(path, re.compile("a/.*"), largest_bytes=largest_bytes, tick=lambda done, total: None)
    return {match.string: content for match, content in files}


@pytest.fixture
def archive(tmp_path):
    return write_tar(tmp_path / "x.tar.gz", FILES)


def test_an_archive_and_its_unpacked_folder_read_the_same(archive, tmp_path):
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "out", filter="data")
    assert read(archive) == read(tmp_path / "out/a") == {"a/1.txt": b"one", "a/2.txt": b"two"}


@pytest.mark.parametrize("kept", [10, 60, -3, -60])
def test_a_truncated_archive_is_refused(archive, kept):
    archive.write_bytes(archive.read_bytes()[:kept])
    with pytest.raises(UserError, match="truncated"):
        read(archive)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"hello" * 1000)
    with pytest.raises(UserError, match=str(tmp_path / "x")):
        read(tmp_path / "x")


@pytest.mark.parametrize(
    "name, kind", [("a/../../x", tarfile.REGTYPE), ("a/l", tarfile.SYMTYPE), ("a/h", tarfile.LNKTYPE)]
)
def test_links_and_paths_that_lead_outside_are_refused(tmp_path, name, kind):
    with tarfile.open(tmp_path / "x.tar", "w") as opened:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        opened.addfile(member, io.BytesIO())
    with pytest.raises(UserError, match="leads outside"):
        read(tmp_path / "x.tar")


@pytest.mark.parametrize(
    ("names", "size"),
    [(("a/1.txt", "a/1.txt"), 3), (("a/1.txt", "a//1.txt"), 3), (("a/\x1b[31m1.txt",), 3), (("b/1.txt",), -512)],
)
def test_names_and_sizes_that_no_archive_has_are_refused(names, size, tmp_path):
    with (tmp_path / "x.tar").open("wb") as raw:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = size
            raw.write(member.tobuf(tarfile.GNU_FORMAT) + b"one".ljust(512, b"\0"))
        raw.write(bytes(1024))
    with pytest.raises(UserError) as refused:
        read(tmp_path / "x.tar")
    assert str(refused.value).isprintable()


def test_a_link_out_of_a_folder_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1.txt").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match=r"1\.txt is a link"):
        read(tmp_path / "a")
    (tmp_path / "a/1.txt").unlink()
    (tmp_path / "a/etc").symlink_to("/etc")
    with pytest.raises(UserError, match="a/etc is a link"):
        read(tmp_path / "a")


def test_links_to_nothing_and_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").mkdir()
    for target in ("2.txt", "1.txt"):
        (tmp_path / "a/1.txt").unlink(missing_ok=True)
        (tmp_path / "a/1.txt").symlink_to(target)
        with pytest.raises(UserError, match=r"1\.txt is a link to nothing"):
            read(tmp_path / "a")


def test_links_within_a_folder_are_followed(tmp_path):
    (tmp_path / "a/real/inner").mkdir(parents=True)
    (tmp_path / "a/real/1.txt").write_bytes(b"one")
    (tmp_path / "a/2.txt").symlink_to("real/1.txt")
    (tmp_path / "a/linked").symlink_to("real")
    (tmp_path / "a/real/inner/up").symlink_to("../..")
    (tmp_path / "a/real/inner/round").symlink_to("../../linked/inner")
    (tmp_path / "b").symlink_to("a")
    found = read(tmp_path / "a")
    assert {"a/real/1.txt", "a/2.txt", "a/linked/1.txt"} <= set(found)
    assert set(found.values()) == {b"one"}
    files = read_files(tmp_path / "b", re.compile("b/2.*"), largest_bytes=9, tick=lambda done, total: None)
    assert [match.string for match, _ in files] == ["b/2.txt"], "the folder that is named may be a link itself"


def test_a_file_larger_than_it_can_be_is_refused(archive):
    with pytest.raises(UserError, match="more than the 2 that"):
        read(archive, largest_bytes=2)
