"""What of a source is left out is counted, with its reason; above 1 % it is a question that verify=false answers."""

import re
from pathlib import Path

import pytest

from data_prep.archives import write_tar
from data_prep.image import source as image_source
from data_prep.pathfinder import source as pathfinder_source
from lra.cli import main
from tests.data_prep.test_image import records
from tests.data_prep.test_pathfinder_release import HARD, png, release
from tests.data_prep.test_retrieval import folder, row

MANY = 120


def with_empty(count: int) -> dict[str, bytes]:
    """A release of 120 images in one folder, the first `count` of which are empty files."""
    files = {f"{HARD}/imgs/1/sample_{k}.png": b"" if k < count else png(k) for k in range(MANY)}
    lines = [f"imgs/1 sample_{k}.png {k} {k % 2} 1.0 14 4 2 0.5 1 1" for k in range(MANY)]
    return {**files, f"{HARD}/metadata/1.npy": "\n".join(lines).encode()}


def without_metadata(place: Path) -> Path:
    """A release of 20 images with their labels, and 10 without."""
    files = release()
    del files[f"{HARD}/metadata/1.npy"]
    return write_tar(place / "x.gz", files)


def test_images_without_metadata_are_counted_and_asked_about(prepare, refused, tmp_path, monkeypatch):
    source = without_metadata(tmp_path)
    monkeypatch.setattr(pathfinder_source, "BENCHMARK", {"all": 20})
    error = refused("prepare", "task=pathfinder", "size=tiny", f"source={source}")
    assert (error.kind, error.key, error.value, error.right) == ("left_out", str(source), 10, "verify=false")
    manifest, splits = prepare("pathfinder", f"source={source}", "verify=false")
    assert sum(map(len, splits.values())) == 20
    (left_out,) = manifest["source"]["left_out"]
    assert left_out["count"] == 10
    assert "metadata/1.npy" in left_out["why"]


@pytest.mark.slow
def test_what_is_left_out_is_shown(prepare, tmp_path, capsys):
    prepare("pathfinder", f"source={without_metadata(tmp_path)}", "verify=false")
    capsys.readouterr()
    assert main(["show", "data", "task=pathfinder", "size=tiny"]) == 0
    assert re.search(r"left out .*metadata/1\.npy.* 10", capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("count, asked", [(1, False), (2, True)])
def test_up_to_one_in_a_hundred_is_told_without_a_question(prepare, refused, tmp_path, monkeypatch, count, asked):
    source = write_tar(tmp_path / "x.gz", with_empty(count))
    monkeypatch.setattr(pathfinder_source, "BENCHMARK", {"all": MANY})
    if asked:
        error = refused("prepare", "task=pathfinder", "size=tiny", f"source={source}")
        assert (error.kind, error.value) == ("left_out", count)
        return
    manifest, _ = prepare("pathfinder", f"source={source}")
    assert [part["count"] for part in manifest["source"]["left_out"]] == [count]


def test_reviews_of_another_name_are_counted(prepare, refused, tmp_path):
    files = {
        f"aclImdb/{split}/{label}/{k}_7.txt": b"good"
        for split in ("train", "test")
        for label in ("pos", "neg")
        for k in range(4)
    }
    more = {
        "aclImdb/train/pos/best.txt": b"good",
        "aclImdb/train/neutral/0_5.txt": b"so so",
        "aclImdb/train/unsup/0_0.txt": b"x",
    }
    own = {"aclImdb/train/pos/._0_7.txt": b"x", "aclImdb/README.txt": b"x", "aclImdb/train/urls_pos.txt": b"x"}
    source = write_tar(tmp_path / "x.tar.gz", {**files, **more, **own})
    error = refused("prepare", "task=text", "size=tiny", f"source={source}")
    assert (error.kind, error.value) == ("left_out", 2)
    manifest, _ = prepare("text", f"source={source}", "verify=false")
    assert sum(part["count"] for part in manifest["source"]["left_out"]) == 2


@pytest.mark.slow
def test_images_of_further_batches_are_counted(prepare, tmp_path):
    binary = image_source.write_stand_in(tmp_path, {"train": 90, "dev": 10, "test": 6})
    files = {name: rows.tobytes() for name, rows in records(binary).items()}
    files["cifar-10-batches-bin/data_batch_6.bin"] = files["cifar-10-batches-bin/data_batch_5.bin"]
    manifest, _ = prepare("image", f"source={write_tar(tmp_path / 'y.tar.gz', files)}", "verify=false", size="full")
    assert [part["count"] for part in manifest["source"]["left_out"]] == [20]


@pytest.mark.slow
def test_what_is_more_than_the_full_size_is_counted(prepare, tmp_path):
    rows = "".join(row(float(i % 2), f"a{i}", f"b{i}") for i in range(40))
    words = [f"source={folder(tmp_path, train=rows)}", "verify=false", "task.sizes.full.train=30"]
    manifest, _ = prepare("retrieval", *words, size="full")
    assert [part["count"] for part in manifest["source"]["left_out"]] == [10]
    manifest, _ = prepare("retrieval", *words)
    assert "left_out" not in manifest["source"], "another size takes a part by its meaning"


def test_nothing_is_said_where_nothing_is_left_out(prepare, tmp_path):
    manifest, _ = prepare("retrieval", f"source={folder(tmp_path)}", "verify=false")
    assert "left_out" not in manifest["source"]
