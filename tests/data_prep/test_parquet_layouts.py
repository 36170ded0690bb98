"""Parquet in other folders, under other names and with other types than today's on the hub; what is no PNG in it."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lra.types import UserError
from tests.data_prep.parquet_files import IMAGES, images, texts

ROWS = [(b"dull", 0), (b"moving", 1)] * 12
TABLE = texts(ROWS)
SPLITS = ("train", "test")
ON_HUB = [f"{split}-00000-of-00001.parquet" for split in SPLITS]
PLANES = np.random.default_rng(0).integers(0, 256, (20, 3, 32, 32), dtype=np.uint8)
HASH = "1a2b3c4d5e6f7a8b"
LAYOUTS = {
    "hash": [f"data/{split}-0000{n}-of-00002-{n}{HASH[1:]}.parquet" for split in SPLITS for n in (0, 1)],
    "converted": [f"default/{split}/{n:04}.parquet" for split in SPLITS for n in (0, 1)],
    "of a revision": [f"refs/convert/parquet/plain_text/{split}/0000.parquet" for split in SPLITS],
    "bare": ["train.parquet", "test.parquet"],
    "words": ["imdb_train.parquet", "imdb_test.parquet", "imdb_unsupervised.parquet"],
    "folders": ["training/part-1.parquet", "training/part-2.parquet", "testing/x.parquet"],
    "capitals": ["Train.parquet", "TEST.parquet"],
    "others beside": ["train.parquet", "test.parquet", ".cache/train.parquet", "unsupervised/0000.parquet"],
}


def write(folder: Path, names: list[str], table: pa.Table) -> Path:
    """Write the same table into files of these names."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    return folder


@pytest.fixture
def refused(prepare, monkeypatch):
    """Prepare what must be refused in one line: gives the error."""
    from lra.terminal import errors

    explain, seen = errors.explain, []
    monkeypatch.setattr(errors, "explain", lambda error: seen.append(error) or explain(error))

    def run(*words: str) -> UserError:
        assert isinstance(prepare(*words, "verify=false"), str)
        error = errors.users_error(seen[-1])
        assert error is not None, seen[-1]
        return error

    return run


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_read(prepare, tmp_path, layout):
    folder = write(tmp_path / "a b", LAYOUTS[layout], TABLE)
    manifest, splits = prepare("text", f"source='{folder}'", "verify=false")
    used = [name for name in LAYOUTS[layout] if "unsupervised" not in name and ".cache" not in name]
    in_train = sum("train" in name.lower() for name in used)
    counts = {split: facts["count"] for split, facts in manifest["splits"].items()}
    assert counts == {"train": in_train * len(ROWS), "test": (len(used) - in_train) * len(ROWS)}
    first, second = (splits["train"].example(number)[0][0].tobytes() for number in (0, 1))
    assert (first, second) == (b"dull", b"moving")
    assert len(manifest["source"]["files"]) == len(used), "the hash of each, also of those of one name"


@pytest.mark.parametrize("name", ["refs/convert/parquet/plain_text/train/0000.parquet", "test.parquet"])
def test_one_of_the_files_stands_for_all(prepare, tmp_path, name):
    layout = "of a revision" if "/" in name else "bare"
    write(tmp_path / "x", LAYOUTS[layout], TABLE)
    manifest, _ = prepare("text", f"source={tmp_path}/x/{name}", "verify=false")
    assert {split: facts["count"] for split, facts in manifest["splits"].items()} == dict.fromkeys(SPLITS, len(ROWS))


def test_a_converted_revision_of_the_cache_is_read_where_the_main_one_has_no_parquet(prepare, tmp_path):
    cached = tmp_path / "hub/datasets--stanfordnlp--imdb"
    write(cached / "snapshots" / ("1" * 40), [f"plain_text/{split}/0000.parquet" for split in SPLITS], TABLE)
    (cached / "snapshots" / ("2" * 40)).mkdir()
    (cached / "snapshots" / ("2" * 40) / "imdb.py").touch()
    for name, revision in (("main", "2" * 40), ("convert/parquet", "1" * 40)):
        (cached / "refs" / name).parent.mkdir(parents=True, exist_ok=True)
        (cached / "refs" / name).write_text(revision)
    manifest, _ = prepare("text", f"source={tmp_path}/hub", "verify=false")
    assert manifest["source"]["revision"] == "1" * 40


@pytest.mark.parametrize(
    "names, kind, key",
    [
        (["a/train.parquet", "b/train.parquet", "test.parquet"], "several_sets", "train"),
        (["train-00000-of-00001.parquet", "train.parquet", "test.parquet"], "several_sets", "train"),
        ([f"train-00000-of-00001-{n}{HASH[1:]}.parquet" for n in (0, 1)] + ["test.parquet"], "several_sets", "train"),
        (["train/0000.parquet", "train/0002.parquet", "test.parquet"], "missing_part", "train"),
        (["train-00001-of-00002.parquet", "test.parquet"], "missing_part", "train"),
    ],
)
def test_files_that_are_no_one_set_are_refused(refused, tmp_path, names, kind, key):
    error = refused("text", f"source={write(tmp_path / 'x', names, TABLE)}")
    assert (error.kind, error.key) == (kind, key)


@pytest.mark.parametrize(
    "type_",
    [
        pa.large_string(),
        pa.string_view(),
        pa.binary_view(),
        pa.large_binary(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_texts_have_any_type_of_texts(prepare, tmp_path, type_):
    bytes_ = pa.types.is_binary_view(type_) or pa.types.is_large_binary(type_)
    column = TABLE["text"].cast(pa.binary()).cast(type_) if bytes_ else TABLE["text"].cast(type_)
    write(tmp_path / "x", ON_HUB, TABLE.set_column(0, "text", column))
    _, splits = prepare("text", f"source={tmp_path}/x", "verify=false")
    assert splits["train"].example(1)[0][0].tobytes() == b"moving"


@pytest.mark.parametrize("form", ["JPEG", "GIF", "BMP", "TIFF", "WEBP", None])
def test_an_image_that_is_no_png_is_told_by_its_first_bytes(refused, tmp_path, form):
    table = images(PLANES, np.arange(20) % 10)
    content = io.BytesIO()
    if form is not None:
        Image.fromarray(PLANES[0].transpose(1, 2, 0)).save(content, form)
    else:
        content.write(b"\x00" * 50)
    rows = [*table["img"].to_pylist()[:-1], {"bytes": content.getvalue(), "path": "x.png"}]
    table = table.set_column(0, "img", pa.array(rows, IMAGES))
    error = refused("image", f"source={write(tmp_path / 'x', ON_HUB, table)}")
    assert (error.kind, error.value) == ("wrong_form", (form or "unknown").lower())
    assert "row 19" in str(error)
    assert " at 0x" not in str(error)


def test_the_beginning_of_a_png_is_a_broken_one(refused, tmp_path):
    table = images(PLANES, np.arange(20) % 10)
    rows = [{"bytes": row["bytes"][:20], "path": None} for row in table["img"].to_pylist()]
    table = table.set_column(0, "img", pa.array(rows, IMAGES))
    error = refused("image", f"source={write(tmp_path / 'x', ON_HUB, table)}")
    assert (error.kind, error.value) == ("broken_png", None)
    assert " at 0x" not in str(error)
