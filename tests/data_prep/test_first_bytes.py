"""What a file is, is told by its first bytes: other compressions are read, other forms are refused by their name."""

import bz2
import gzip
import io
import lzma
import pickle
import re
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from data_prep.archives import read_files
from data_prep.first_bytes import form_of
from data_prep.png import decode_png
from lra.types import UserError

FILES = {"a/1.txt": b"one" * 300, "a/2.txt": b"two"}


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def image(form: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.zeros((32, 32), np.uint8)).save(file, form)
    return file.getvalue()


def numpys(save) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/1.txt", "one")
    return file.getvalue()


TAR = tar()
READ = {
    "tar": TAR,
    "gzip": gzip.compress(TAR),
    "bzip2": bz2.compress(TAR),
    "xz": lzma.compress(TAR),
    "lzma": lzma.compress(TAR, lzma.FORMAT_ALONE),
    "xz of several streams": lzma.compress(TAR[:1024]) + lzma.compress(TAR[1024:]) + bytes(8),
}
FORMS = {
    "zip": zipped(),
    "npz": numpys(lambda file: np.savez(file, tokens=np.zeros(3))),
    "npy": numpys(lambda file: np.save(file, np.zeros(3))),
    "pickle": pickle.dumps({"labels": [1]}, 2),
    "pickle of text": pickle.dumps({"labels": [1]}, 0),
    "parquet": b"PAR1\x15\x04\x15" + bytes(40),
    "png": image("PNG"),
    "jpeg": image("JPEG"),
    "zstd": b"\x28\xb5\x2f\xfd" + bytes(40),
    "7z": b"7z\xbc\xaf\x27\x1c" + bytes(40),
    "rar": b"Rar!\x1a\x07\x00" + bytes(40),
    "html": b"\n<!DOCTYPE html><html><body>404</body></html>",
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
    "text": "Source\tTarget\né\n".encode(),
    "empty": b"",
    "unknown": bytes(range(128, 256)) * 8,
}


def read(path, largest_bytes=1000):
    files = read_files(path, re.compile("a/.*"), largest_bytes=largest_bytes, tick=lambda done, total: None)
    return {match.string: content for match, content in files}


@pytest.mark.parametrize("name", READ)
def test_a_tar_is_read_in_each_compression_whatever_its_name(tmp_path, name):
    (tmp_path / "x.tar.gz").write_bytes(READ[name])
    assert read(tmp_path / "x.tar.gz") == FILES


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz", "lzma"])
def test_one_that_ends_early_is_called_truncated(tmp_path, name):
    (tmp_path / "x.tar").write_bytes(READ[name][:-20])
    with pytest.raises(UserError) as refused:
        read(tmp_path / "x.tar")
    assert refused.value.kind == "damaged_archive"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_another_form_is_refused_by_its_name(tmp_path, name, packed):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(FORMS[name]) if packed else FORMS[name])
    with pytest.raises(UserError) as refused:
        read(path)
    assert (refused.value.kind, refused.value.value) == ("wrong_form", name.removesuffix(" of text"))
    assert "fetch it again" not in str(refused.value) or name in ("html", "lfs", "empty", "unknown")
    assert " at 0x" not in str(refused.value)


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_told_apart(name):
    assert form_of(FORMS[name]).name == name.removesuffix(" of text")


def test_unpacking_xz_takes_little_memory(tmp_path):
    large = lzma.compress(TAR, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}])
    (tmp_path / "x.tar.xz").write_bytes(large)
    with pytest.raises(UserError) as refused:
        read(tmp_path / "x.tar.xz")
    assert refused.value.kind == "unpacking_memory"


@pytest.mark.slow
@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress])
def test_what_unpacks_to_far_more_is_refused(tmp_path, compress):
    (tmp_path / "x.tar").write_bytes(compress(TAR + bytes(100 << 20)))
    with pytest.raises(UserError, match="unpacks to more than 50 times its size"):
        read(tmp_path / "x.tar")


@pytest.mark.parametrize("task", ["text", "image", "listops", "retrieval", "pathfinder"])
@pytest.mark.parametrize("name", ["pickle", "html", "png"])
def test_every_task_says_what_a_source_is(prepare, refused, tmp_path, task, name):
    (tmp_path / "source").write_bytes(FORMS[name])
    error = refused("prepare", f"task={task}", "size=tiny", f"source={tmp_path}/source", "verify=false")
    assert (error.kind, error.value) == ("wrong_form", name)


def test_a_file_that_lies_in_a_searched_folder_is_looked_at_too(prepare, refused, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/lra_release.gz").write_bytes(FORMS["html"])
    error = refused("prepare", "task=listops", "size=tiny")
    assert (error.kind, error.value) == ("wrong_form", "html")


def test_a_pickle_by_its_name_alone_is_told_too(prepare, refused, tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"text.{split}.pickle").write_bytes(FORMS["html"])
    error = refused("prepare", "task=text", "size=tiny", f"source={tmp_path}/text.train.pickle", "verify=false")
    assert (error.kind, error.value) == ("wrong_form", "html")


@pytest.mark.parametrize("name", ["jpeg", "text", "empty", "unknown"])
def test_no_address_of_an_object_is_in_the_line_of_an_image(name):
    with pytest.raises(UserError) as refused:
        decode_png(FORMS[name], "x", side=32, mode="L")
    assert (refused.value.kind, refused.value.value) == ("wrong_form", name)
    assert " at 0x" not in str(refused.value)
