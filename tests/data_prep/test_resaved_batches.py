"""CIFAR-10's Python batches as other programs leave them: text keys, any protocol, arrays of labels, one file named."""

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from data_prep.archives import write_tar
from data_prep.image import source as image_source
from data_prep.image.source import read_batch
from data_prep.unpickle import unpickle
from lra.types import UserError
from tests.data_prep.test_image import as_python, as_python2, records

COUNTS = {"train": 90, "dev": 10, "test": 6}
PIXELS = np.random.default_rng(0).integers(0, 256, (4, 3072), np.uint8)


@pytest.fixture
def binary(tmp_path):
    return image_source.write_stand_in(tmp_path, COUNTS)


def resaved(content: bytes, protocol: int) -> bytes:
    """What `pickle.load(file, encoding="latin1")` and `pickle.dump` make of a batch of Python 2."""
    return pickle.dumps(pickle.loads(content, encoding="latin1"), protocol=protocol)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("key", [str, str.encode])
def test_text_keys_and_every_binary_protocol_are_read(protocol, key):
    batch = {key("data"): PIXELS, key("labels"): [3, 0, 9, 9], key("filenames"): [key("a.png")] * 4}
    planes, labels = read_batch(pickle.dumps(batch, protocol), "x")
    assert np.array_equal(planes.reshape(4, -1), PIXELS)
    assert labels.tolist() == [3, 0, 9, 9]


@pytest.mark.parametrize(
    "labels", [np.array([3, 0, 9, 9]), np.array([3, 0, 9, 9], np.uint8), list(np.array([3, 0, 9, 9]))]
)
def test_labels_may_be_an_array(labels):
    assert read_batch(pickle.dumps({"data": PIXELS, "labels": labels}), "x")[1].tolist() == [3, 0, 9, 9]


@pytest.mark.parametrize("protocol", [0, 1])
def test_a_pickle_of_text_is_refused_by_its_protocol(protocol):
    with pytest.raises(UserError) as refused:
        unpickle(io.BytesIO(pickle.dumps({"data": PIXELS, "labels": [1, 2]}, protocol)), "x")
    assert refused.value.kind == "pickle_protocol"


@pytest.mark.parametrize("wrong", [-1, 10, 300, 1.5, "cat", None])
def test_a_wrong_label_is_named_with_its_image(wrong):
    content = pickle.dumps({"data": PIXELS, "labels": [3, wrong, 9, 9]})
    with pytest.raises(UserError) as refused:
        read_batch(content, "x/test_batch")
    assert (refused.value.kind, refused.value.key, refused.value.value) == (
        "wrong_label",
        "x/test_batch, image 1",
        wrong,
    )


def test_planes_of_another_shape_are_named(tmp_path):
    with pytest.raises(UserError) as refused:
        read_batch(pickle.dumps({"data": PIXELS.astype(np.float32), "labels": [3, 0, 9, 9]}), "x")
    assert (refused.value.kind, refused.value.value) == ("wrong_pixels", "float32 [4, 3072]")


def test_a_batch_of_the_archives_size_is_read_in_protocol_2(tmp_path):
    names = [f"image_{number:05}.png" for number in range(10_000)]
    content = pickle.dumps(
        {"data": np.full((10_000, 3072), 255, np.uint8), "labels": [9] * 10_000, "filenames": names}, 2
    )
    assert 61 << 20 > len(content) > 58 << 20
    assert len(content) < image_source.LARGEST_BYTES
    assert read_batch(content, "x")[0].shape == (10_000, 3, 32, 32)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [2, 4])
def test_an_archive_of_them_gives_the_same(prepare, binary, tmp_path, protocol):
    wanted = prepare("image", f"source={binary}", "verify=false", size="full")[0]["arrays"]
    files = {name: resaved(content, protocol) for name, content in as_python(binary).items()}
    packed = write_tar(tmp_path / "x.tar.gz", files)
    assert prepare("image", f"source={packed}", "verify=false", "force=true", size="full")[0]["arrays"] == wanted


def folder_of(binary: Path, place: Path, *, binaries: bool) -> Path:
    place.mkdir()
    contents = {name: rows.tobytes() for name, rows in records(binary).items()} if binaries else as_python(binary)
    for name, content in contents.items():
        (place / name.rpartition("/")[2]).write_bytes(content)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("binaries", [True, False])
def test_one_batch_stands_for_those_beside_it(prepare, refused, binary, tmp_path, binaries):
    wanted = prepare("image", f"source={binary}", "verify=false", size="full")[0]["arrays"]
    folder = folder_of(binary, tmp_path / "batches", binaries=binaries)
    ending = ".bin" if binaries else ""
    one = folder / f"data_batch_3{ending}"
    assert prepare("image", f"source={one}", "verify=false", "force=true", size="full")[0]["arrays"] == wanted
    (folder / f"test_batch{ending}").unlink()
    error = refused("prepare", "task=image", f"source={one}", "verify=false", "force=true")
    assert (error.kind, error.value) == ("missing_file", f"test_batch{ending}")


def test_a_label_below_zero_in_the_test_part_is_named(prepare, refused, binary, tmp_path):
    files = as_python(binary)
    rows = records(binary)["cifar-10-batches-bin/test_batch.bin"]
    batch = {b"data": rows[:, 1:].copy(), b"labels": [*rows[:-1, 0].tolist(), -1]}
    files["cifar-10-batches-py/test_batch"] = as_python2(batch)
    packed = write_tar(tmp_path / "x.tar.gz", files)
    error = refused("prepare", "task=image", "size=tiny", f"source={packed}", "verify=false")
    assert (error.kind, error.value) == ("wrong_label", -1)
