"""Image from CIFAR-10's archives: binary and Python alike, pickles that run nothing, grey to the last level."""

import io
import pickle
import re
import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from data_prep.archives import read_files, write_tar
from data_prep.image import source as image_source
from lra.data.image import encode

COUNTS = {"train": 90, "dev": 10, "test": 6}  # every class in the training images


@pytest.fixture
def binary(tmp_path):
    return image_source.write_stand_in(tmp_path, COUNTS)


def records(binary: Path) -> dict[str, np.ndarray]:
    files = read_files(binary, re.compile(r".*\.bin"), largest_bytes=10**9, tick=lambda done, total: None)
    return {match.string: np.frombuffer(raw, np.uint8).reshape(-1, 3073) for match, raw in files}


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its strings, and numpy's module by its old name."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def save_string(self, obj):
        short = len(obj) < 256
        self.write(b"U" + bytes([len(obj)]) + obj if short else b"T" + struct.pack("<i", len(obj)) + obj)
        self.memoize(obj)

    dispatch[bytes] = save_string


def as_python2(batch: dict[bytes, object]) -> bytes:
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(batch)
    return file.getvalue().replace(b"cnumpy._core.multiarray", b"cnumpy.core.multiarray")


def as_python(binary: Path) -> dict[str, bytes]:
    """The same batches as the pickles of Python 2 that the original archive holds."""
    files = {}
    for name, rows in records(binary).items():
        batch = {
            b"data": rows[:, 1:].copy(),
            b"labels": rows[:, 0].tolist(),
            b"batch_label": b"x",
            b"filenames": [b"a.png"],
        }
        name = name.replace("bin/", "py/").removesuffix(".bin")
        files[name] = as_python2(batch)
    return files


def test_the_last_tenth_of_train_in_the_archives_order_is_dev(prepare, binary):
    manifest, splits = prepare("image", f"source={binary}", "verify=false", size="full")
    assert [len(split) for split in splits.values()] == [*COUNTS.values()]
    rows = np.concatenate([records(binary)[f"cifar-10-batches-bin/data_batch_{i}.bin"] for i in range(1, 6)])
    for split, wanted in (("train", rows[:90]), ("dev", rows[90:])):
        for i, row in enumerate(wanted):
            (stored,), label = splits[split].example(i)
            assert label == row[0]
            assert np.array_equal(stored, encode(row[1:].reshape(3, 32, 32)))
    assert manifest["origin"] == "stand-in"


@pytest.mark.slow
def test_the_python_archive_and_unpacked_folders_give_the_same(prepare, binary, tmp_path):
    wanted = prepare("image", f"source={binary}", "verify=false", size="full")[0]["arrays"]
    files = as_python(binary)
    packed = write_tar(tmp_path / "cifar-10-python.tar.gz", files)
    for name, raw in {**files, **{name: rows.tobytes() for name, rows in records(binary).items()}}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(raw)
    for source in (packed, tmp_path / "cifar-10-batches-py", tmp_path / "cifar-10-batches-bin"):
        assert prepare("image", f"source={source}", "verify=false", "force=true", size="full")[0]["arrays"] == wanted


class Bomb:
    """Runs a command when it is unpickled the usual way."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_pickle_that_would_run_something_is_refused_and_runs_nothing(prepare, binary, tmp_path):
    files = as_python(binary)
    files["cifar-10-batches-py/data_batch_3"] = as_python2({b"data": Bomb(tmp_path / "ran")})
    line = prepare("image", f"source={write_tar(tmp_path / 'x.tar.gz', files)}", "verify=false")
    assert "data_batch_3 is refused: it names " in line
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage, line",
    [
        (lambda raw: raw[:-7], "image 19: 3066 bytes instead of 3073"),
        (lambda raw: raw[:3073] + bytes([10]) + raw[3074:], "image 1: label 10, but CIFAR-10 has 0 to 9"),
        (None, "has no cifar-10-batches-bin/data_batch_2.bin"),
    ],
)
def test_a_broken_batch_is_named_with_its_image(prepare, binary, tmp_path, damage, line):
    name = "cifar-10-batches-bin/data_batch_2.bin"
    files = {name: rows.tobytes() for name, rows in records(binary).items()}
    files = {
        key: (damage(raw) if damage and key == name else raw) for key, raw in files.items() if damage or key != name
    }
    assert line in prepare("image", f"source={write_tar(tmp_path / 'x.tar.gz', files)}", "verify=false")


def test_a_pickle_with_images_of_another_size_is_refused(prepare, binary, tmp_path):
    files = as_python(binary)
    files["cifar-10-batches-py/test_batch"] = pickle.dumps(
        {b"data": np.zeros((2, 3000), np.uint8), b"labels": [0, 1]}, 2
    )
    line = prepare("image", f"source={write_tar(tmp_path / 'x.tar.gz', files)}", "verify=false")
    assert "test_batch is refused" in line


def test_grey_is_exact_to_the_last_level():
    """Against exact fractions; a level may differ only where the exact value is within float32's error of a level."""
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
    rgb[0, :, 0, :4] = [[0, 255, 255, 1], [0, 255, 0, 1], [0, 255, 0, 1]]
    weights = [Fraction(np.float32(w).item()) for w in (0.2989, 0.587, 0.114)]
    levels = encode(rgb).reshape(4, 32, 32)
    for image, row, column in np.ndindex(4, 32, 32):
        exact = sum(w * int(v) for w, v in zip(weights, rgb[image, :, row, column], strict=True)) * Fraction(511, 510)
        level = int(levels[image, row, column])
        assert level == int(exact) or abs(exact - max(level, int(exact))) < Fraction(1, 10_000)
    assert levels[0, 0, :4].tolist() == [0, 255, 76, 1]


def test_tiny_images_are_every_second_pixel():
    rgb = np.arange(3 * 32 * 32, dtype=np.uint32).astype(np.uint8).reshape(3, 32, 32)
    assert np.array_equal(encode(rgb, 16).reshape(16, 16), encode(rgb).reshape(32, 32)[::2, ::2])


def test_the_archives_hashes_are_those_that_are_published():
    assert image_source.BINARY.sha256.startswith("c4a38c50")
    assert image_source.NAMES[0] == "cifar-10-binary.tar.gz"
