"""Text from an IMDb archive: bytes kept, order fixed, what is wrong named."""

import functools
import tarfile

import numpy as np
import pytest

from data_prep.archives import write_tar
from data_prep.download import Archive
from data_prep.text import source as text_source

TEXTS = {"train": (b"bad \xff film", b"good"), "test": (b"x" * 300, b"")}


@pytest.fixture
def imdb(tmp_path):
    """An archive with a review per split and label, in no order, and with what the original has beside them."""
    files = {"aclImdb/README": b"", "aclImdb/train/unsup/0_0.txt": b"unlabelled"}
    for split, (neg, pos) in TEXTS.items():
        files |= {f"aclImdb/{split}/pos/10_9.txt": pos, f"aclImdb/{split}/neg/2_1.txt": neg}
    return write_tar(tmp_path / "aclImdb_v1.tar.gz", files)


def test_bytes_are_stored_as_they_are_and_counted(prepare, imdb):
    manifest, splits = prepare("text", f"source={imdb}", "verify=false")
    assert manifest["origin"] == "stand-in", "not the benchmark's 25,000 reviews"
    assert list(splits) == ["train", "test"]
    for name, (neg, pos) in TEXTS.items():
        stored = [(splits[name].example(i)[0][0].tobytes(), splits[name].example(i)[1]) for i in range(2)]
        assert stored == [(neg[:250], 0), (pos, 1)]
    assert manifest["source"]["invalid_utf8"] == 1
    assert [manifest["splits"]["test"][f"{what}_sequences"] for what in ("cut", "empty")] == [1, 1]
    assert manifest["first_id"] == 1


@pytest.mark.slow
def test_the_unpacked_folder_gives_the_same(prepare, imdb, tmp_path):
    packed, _ = prepare("text", f"source={imdb}", "verify=false")
    with tarfile.open(imdb) as opened:
        opened.extractall(tmp_path / "out", filter="data")
    folder, _ = prepare("text", f"source={tmp_path}/out/aclImdb", "verify=false", "force=true")
    assert folder["arrays"] == packed["arrays"]


def test_another_hash_is_refused_unless_the_user_says_so(prepare, imdb):
    assert "has sha256" in (line := prepare("text", f"source={imdb}"))
    assert "verify=false" in line


def test_the_published_archive_is_official(prepare, imdb, monkeypatch):
    from lra.base.files import sha256

    published = Archive(name=imdb.name, url="", size_bytes=0, sha256=sha256(imdb))
    monkeypatch.setattr(text_source, "ARCHIVE", published)
    monkeypatch.setattr(text_source, "BENCHMARK", {"train": 2, "test": 2})
    manifest, _ = prepare("text", f"source={imdb}")
    assert manifest["origin"] == "official"
    assert manifest["source"]["sha256"] == sha256(imdb)


def test_the_benchmarks_counts_under_another_hash_are_unverified(prepare, imdb, monkeypatch):
    monkeypatch.setattr(text_source, "BENCHMARK", {"train": 2, "test": 2})
    assert prepare("text", f"source={imdb}", "verify=false")[0]["origin"] == "unverified"


def test_auto_finds_an_archive_in_the_folders(prepare, imdb, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    imdb.rename(tmp_path / "elsewhere" / imdb.name)
    manifest, _ = prepare("text", "verify=false")
    assert manifest["source"]["path"].endswith("elsewhere/aclImdb_v1.tar.gz")


@pytest.mark.parametrize(
    "files, line",
    [
        ({"aclImdb/train/pos/0_9.txt": b""}, "holds no aclImdb/train/pos/0_9.txt and the like"),
        ({"other/file": b""}, "holds no aclImdb"),
    ],
)
def test_another_layout_is_refused(prepare, tmp_path, files, line):
    assert line in prepare("text", f"source={write_tar(tmp_path / 'x.tar.gz', files)}", "verify=false")


def test_a_stand_in_has_what_its_settings_say(prepare):
    manifest, splits = prepare("text")
    assert manifest["origin"] == "stand-in"
    assert [len(split) for split in splits.values()] == [256, 64]


def test_reviews_are_ordered_by_label_and_number(tmp_path):
    read = functools.partial(text_source.read_archive, tick=lambda done, total: None)
    names = ("pos/2_9", "neg/10_1", "pos/1_9", "neg/9_1")
    files = {f"aclImdb/{split}/{name}.txt": name.encode() for split in TEXTS for name in names}
    ordered = [text for text, _ in read(write_tar(tmp_path / "x.tar.gz", files))["train"]]
    assert ordered == [b"neg/9_1", b"neg/10_1", b"pos/1_9", b"pos/2_9"]
    assert np.array_equal([label for _, label in read(tmp_path / "x.tar.gz")["test"]], [0, 0, 1, 1])
