"""Parquet of the Hugging Face hub: the same stores as from the archives, from a folder, a file and the hub's cache."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from data_prep.image import source as image_source
from data_prep.text import source as text_source
from lra.base.files import sha256
from tests.data_prep.parquet_files import images, in_cache, texts, write_files

SETTINGS = {"train": 200, "dev": 24, "test": 40}
DATASETS = {"text": text_source.HUB, "image": image_source.HUB}


def text(folder: Path):
    archive = text_source.write_stand_in(folder, SETTINGS)
    read = text_source.read_archive(archive, lambda done, total: None)
    return archive, {split: texts(part) for split, part in read.items()}


def image(folder: Path):
    archive = image_source.write_stand_in(folder, SETTINGS)
    read = image_source.read_archive(archive, lambda done, total: None)
    return archive, {split: images(*part) for split, part in read.items()}


@pytest.fixture(params=[text, image], ids=["text", "image"])
def made(request, tmp_path):
    """The task, its archive, and tables with the same content."""
    (tmp_path / "original").mkdir()
    return request.param.__name__, *request.param(tmp_path / "original")


@pytest.mark.some_fast(1)
def test_the_store_is_that_of_the_archive(prepare, tmp_path, made):
    task, archive, tables = made
    wanted, _ = prepare(task, f"source={archive}", "verify=false")
    folder = write_files(tmp_path / "downloaded", {**tables, "unsupervised": tables["test"]}, shards=3)
    for source in (folder, folder / "plain_text", folder / "plain_text/test-00001-of-00003.parquet"):
        found, _ = prepare(task, f"source={source}", "verify=false", "force=true")
        assert (found["arrays"], found["splits"]) == (wanted["arrays"], wanted["splits"])
        names = [f"{split}-{number:05}-of-00003.parquet" for split in ("train", "test") for number in range(3)]
        assert found["source"]["files"] == {name: sha256(folder / "plain_text" / name) for name in names}


@pytest.mark.some_fast(1)
def test_links_of_the_hubs_cache_are_followed(prepare, tmp_path, made, monkeypatch):
    task, archive, tables = made
    wanted, _ = prepare(task, f"source={archive}", "verify=false")
    hub = tmp_path / "hub"
    cached = in_cache(write_files(tmp_path / "downloaded", tables), hub, DATASETS[task])
    snapshot = cached / "snapshots" / ("0" * 40)
    for source in (hub, cached, snapshot, snapshot / "plain_text", snapshot / "plain_text/test-00000-of-00001.parquet"):
        found, _ = prepare(task, f"source={source}", "verify=false", "force=true")
        assert found["arrays"] == wanted["arrays"]
        assert found["source"]["revision"] == "0" * 40
    monkeypatch.setenv("LRA_SOURCE_DIR", str(hub))
    assert prepare(task, "verify=false", "force=true")[0]["arrays"] == wanted["arrays"]


def test_the_revision_in_use_is_read(prepare, tmp_path):
    _, tables = text(tmp_path)
    hub = tmp_path / "hub"
    cached = in_cache(write_files(tmp_path / "a", tables), hub, DATASETS["text"], "1" * 40)
    in_cache(write_files(tmp_path / "b", {**tables, "train": tables["test"]}), hub, DATASETS["text"], "2" * 40)
    manifest, _ = prepare("text", f"source={hub}", "verify=false")
    assert manifest["source"]["revision"] == "2" * 40
    assert manifest["splits"]["train"]["count"] == SETTINGS["test"]
    (cached / "refs/main").unlink()
    line = prepare("text", f"source={hub}", "verify=false", "force=true")
    assert "1" * 40 in line
    assert "2" * 40 in line


def test_a_link_that_leads_out_is_refused(prepare, tmp_path):
    _, tables = text(tmp_path)
    folder = write_files(tmp_path / "downloaded", tables)
    cached = in_cache(folder, tmp_path / "hub", DATASETS["text"])
    link = next(cached.glob("snapshots/*/plain_text/train-*"))
    shutil.copy(link, tmp_path / "outside")
    link.unlink()
    link.symlink_to(tmp_path / "outside")
    for source in (tmp_path / "hub", cached, link.parent):
        assert f"{link} is a link that leads outside of {cached}" in prepare("text", f"source={source}", "verify=false")


def test_the_benchmarks_counts_are_unverified_and_others_refused(prepare, tmp_path, monkeypatch):
    _, tables = text(tmp_path)
    folder = write_files(tmp_path / "downloaded", tables)
    assert "200 train examples, the benchmark 25,000" in prepare("text", f"source={folder}")
    monkeypatch.setattr(text_source, "BENCHMARK", {"train": 200, "test": 40})
    assert prepare("text", f"source={folder}")[0]["origin"] == "unverified"


def test_bytes_that_are_no_utf8_are_kept(prepare, tmp_path):
    rows = [(b"bad \xff film", 0), (b"", 1)]
    table = pa.table({"text": pa.array([raw for raw, _ in rows], pa.binary()), "label": pa.array([0, 1])})
    manifest, splits = prepare(
        "text", f"source={write_files(tmp_path / 'x', dict.fromkeys(('train', 'test'), table))}", "verify=false"
    )
    assert [splits["train"].example(number)[0][0].tobytes() for number in (0, 1)] == [raw for raw, _ in rows]
    assert manifest["source"]["invalid_utf8"] == 2
