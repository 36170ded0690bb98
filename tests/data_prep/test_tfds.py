"""TFDS knows the benchmark as `lra`: listed, loaded, made once, with the rows of the stores."""

import numpy as np
import pytest
import tensorflow_datasets as tfds

from data_prep.archives import write_tar
from data_prep.image.source import write_stand_in as write_images
from data_prep.text.source import write_stand_in as write_reviews
from lra import from_config
from lra.base.paths import conf_names
from lra.data.image import encode as encode_image
from lra.data.listops import encode as encode_expression
from lra.from_config import datasets
from lra.settings.compose import load_config
from lra.types import UserError

SPLITS = {"train": "train", "validation": "dev", "test": "test"}
ENCODE = {
    "listops": lambda row: (encode_expression(row["source"]), row["target"]),
    "text": lambda row: (row["text"][:250], row["label"]),
    "image": lambda row: (encode_image(row["planes"], 16), row["label"]),
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load with TFDS's own function, into a folder of the test's own."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_SOURCE_DIR", str(tmp_path / "elsewhere"))
    tfds.disable_progress_bar()
    return lambda name, **named: tfds.load(name, data_dir=str(tmp_path / "tfds"), **named)


@pytest.mark.slow
def test_the_benchmark_is_listed_with_every_task_and_size():
    assert "lra" in tfds.list_builders(with_community_datasets=False)
    tasks = {task: load_config("prepare", [f"task={task}"]).task.sizes for task in conf_names("task")}
    names = {task if size == "full" else f"{task}_{size}" for task, sizes in tasks.items() for size in sizes}
    assert set(tfds.builder_cls("lra").builder_configs) == names
    assert not {"listops", "text", "image", "pathfinder", "retrieval", "tokens"} & set(
        tfds.list_builders(with_community_datasets=False)
    )


@pytest.mark.parametrize("name", ["listops", "text", "retrieval_short", "image_tiny", "pathfinder_short", "pathx"])
def test_a_configuration_is_described_without_its_data(tmp_path, name):
    info = tfds.builder(f"lra/{name}", data_dir=str(tmp_path)).info
    task = name.split("_")[0]
    cfg = load_config("prepare", [f"task={task}"])
    assert info.full_name == f"lra/{name}/{from_config.build_codec(cfg).version}"
    assert "Long Range Arena" in info.citation
    assert info.homepage.startswith("https://")
    assert info.description
    assert ("target" if task == "listops" else "label") in info.features
    assert not list(tmp_path.iterdir())


def test_the_images_of_a_configuration_have_its_side(tmp_path):
    shapes = {
        name: tfds.builder(f"lra/{name}", data_dir=str(tmp_path)).info.features["image"].shape
        for name in ("pathfinder", "pathfinder_short", "pathx")
    }
    assert shapes == {"pathfinder": (32, 32), "pathfinder_short": (16, 16), "pathx": (128, 128)}


@pytest.mark.parametrize("task", ["listops", "text", "image"])
def test_the_rows_are_those_of_the_store_in_its_order(prepare, load, task):
    _, splits = prepare(task)
    loaded = load(f"lra/{task}_tiny")
    assert [SPLITS[name] for name in loaded] == [name for name in SPLITS.values() if name in splits]
    for name, rows in loaded.items():
        split = splits[SPLITS[name]]
        assert len(rows) == len(split)
        for i in range(len(rows)):
            sequence, label = ENCODE[task](rows[i])
            assert split.example(i)[1] == label
            assert np.array_equal(split.example(i)[0][0], sequence)


def test_pairs_of_documents_are_loaded(prepare, load):
    _, splits = prepare("retrieval")
    texts: dict[int, bytes] = {}
    for i, row in enumerate(load("lra/retrieval_tiny", split="train")):
        start = 0
        for number, length in row["documents"].tolist():
            texts.setdefault(number, row["text"][start : start + length].tobytes())
            start += length
        stored = splits["train"].example(i)[0]
        assert [part.tobytes() for part in stored] == [texts[number][:250] for number in row["documents"][:, 0]]


def test_what_is_there_is_not_made_again(load, tmp_path, monkeypatch):
    rows, info = load("lra/text_tiny", split="train[:10]", with_info=True)
    assert len(rows) == 10
    assert info.splits["train"].num_examples == 256
    monkeypatch.setattr("lra.from_config.datasets.build_source", None)
    assert len(load("lra/text_tiny", split="test")) == 64
    assert len(tfds.data_source("lra/text_tiny", split="test", data_dir=str(tmp_path / "tfds"))) == 64


def test_nothing_is_made_without_download(load):
    with pytest.raises(AssertionError, match="download_and_prepare"):
        load("lra/text_tiny", split="train", download=False)


def test_archives_are_named_or_found_in_tfds_folders(load, tmp_path):
    (tmp_path / "manual").mkdir()
    source = write_images(tmp_path, {"train": 50, "dev": 0, "test": 7})
    named = load("lra/image_tiny", builder_kwargs={"source": str(source), "verify": False})
    assert {name: len(rows) for name, rows in named.items()} == {"train": 45, "validation": 5, "test": 7}
    write_reviews(tmp_path / "manual", {"train": 6, "test": 4})
    manual = tfds.download.DownloadConfig(manual_dir=tmp_path / "manual")
    found = load(
        "lra/text_tiny", builder_kwargs={"verify": False}, download_and_prepare_kwargs={"download_config": manual}
    )
    assert {name: len(rows) for name, rows in found.items()} == {"train": 6, "test": 4}


def test_a_source_that_is_not_the_benchmarks_leaves_nothing(load, tmp_path):
    source = write_tar(tmp_path / "aclImdb_v1.tar.gz", {"aclImdb/train/pos/0_9.txt": b"good"})
    with pytest.raises(UserError, match="aclImdb"):
        load("lra/text_tiny", builder_kwargs={"source": str(source)})
    assert not [path for path in (tmp_path / "tfds").rglob("*") if path.is_file() and "lra/text" in str(path)]


def test_options_of_tf_data_are_refused(load):
    load("lra/text_tiny")
    with pytest.raises(NotImplementedError, match="batch_size: not for array_record files"):
        load("lra/text_tiny", batch_size=2)


def test_a_dataset_that_an_older_version_has_kept_is_read_where_it_is(prepare, tmp_path):
    """`lra prepare` used to leave `tfds/text/tiny/1.0.0` in the data folder."""
    folder = tmp_path / "data/tfds"
    text = datasets.DATASETS["text"]
    rows = {"train": lambda: iter([{"text": np.frombuffer(b"good", np.uint8), "label": 1}])}
    text(rows=rows, settings={}, config="tiny", data_dir=str(folder)).download_and_prepare()
    prepare("text", "force=true")
    (row,) = tfds.data_source("text/tiny", split="train", data_dir=str(folder))
    assert (row["text"].tobytes(), row["label"]) == (b"good", 1)
