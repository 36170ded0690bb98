"""Image: CIFAR-10, from its binary or Python archive, downloaded or local, its folder, parquet, or pickles in grey."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.archives import Tick, read_files, write_tar
from data_prep.builder import Row, RowsBuilder
from data_prep.forms import CIFAR_BINARY as BINARY
from data_prep.forms import CIFAR_ON_HUB as HUB
from data_prep.forms import CIFAR_PYTHON as PYTHON
from data_prep.forms import DOWNLOADED, GENERATED, names_of
from data_prep.parquet import Parquet, is_parquet
from data_prep.parquet import Row as ParquetRow
from data_prep.png import decode_png
from data_prep.released_pickles import Pickles, is_pickle
from data_prep.source import Request, Source, determine_origin, evenly_spaced, locate
from data_prep.unpickle import unpickle
from lra.data.image import CLASSES, FIRST_ID, VERSION, encode
from lra.data.writer import Example
from lra.types import UserError

BATCH_FILE = re.compile(r"cifar-10-batches-(?:bin|py)/(data_batch_[1-5]|test_batch)(?:\.bin)?")
PIXELS = 3 * 32 * 32
RECORD_BYTES = 1 + PIXELS  # a label and three colour planes
LARGEST_BYTES = 10_000 * (RECORD_BYTES + 32) + (1 << 20)  # a pickle also has file names and other entries
Images = tuple[np.ndarray, np.ndarray]  # planes [n, 3, 32, 32], labels [n]
NAMES = names_of("image")
BENCHMARK = {"train": 50_000, "test": 10_000}
PICKLED_BENCHMARK = {"train": 45_000, "dev": 5_000, "test": 10_000}
PICKLED = {"ids": 32 * 32, "padding": 0, "largest": 255}
DEV_SHARE = 10  # the dev split is the last tenth of the training images, in the archive's order


def read_archive(path: Path, tick: Tick) -> dict[str, Images]:
    """Read colour planes and labels of train and test, in the order of the batches.

    Raises:
        UserError: for a broken or unsafe archive, a missing batch, an image of another size, or a label above 9.
    """
    batches: dict[str, Images] = {}
    for match, content in read_files(path, BATCH_FILE, largest_bytes=LARGEST_BYTES, tick=tick):
        where = f"{path}: {match.string}"
        images = _binary(content, where) if where.endswith(".bin") else read_batch(content, where)
        if len(images[1]) and images[1].max() > 9:
            row = int(np.argmax(images[1] > 9))
            raise UserError(f"{where}, image {row}: label {images[1][row]}, but CIFAR-10 has 0 to 9")
        batches[match.group(1)] = images
    train = [f"data_batch_{i}" for i in range(1, 6)]
    missing = [name for name in [*train, "test_batch"] if name not in batches]
    if missing:
        if not batches and path.is_dir() and any(path.rglob("*.png")):
            raise UserError(
                f"{path} has images without labels and in no order, so that train and dev cannot be told; source= wants"
                " cifar-10-binary.tar.gz, cifar-10-python.tar.gz, or one of their folders"
            )
        raise UserError(
            f"{path} has no cifar-10-batches-bin/{missing[0]}.bin and no cifar-10-batches-py/{missing[0]};"
            " source= wants cifar-10-binary.tar.gz, cifar-10-python.tar.gz, or one of their folders"
        )
    joined = [np.concatenate([batches[name][part] for name in train]) for part in (0, 1)]
    return {"train": (joined[0], joined[1]), "test": batches["test_batch"]}


def _binary(content: bytes, where: str) -> Images:
    whole, rest = divmod(len(content), RECORD_BYTES)
    if rest:
        raise UserError(f"{where}, image {whole}: {rest} bytes instead of {RECORD_BYTES} (a label, 3 × 32 × 32)")
    records = np.frombuffer(content, np.uint8).reshape(whole, RECORD_BYTES)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def read_batch(content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a batch of the Python archive, a pickled dictionary: colour planes `[n, 3, 32, 32]` uint8 and labels `[n]`.

    Raises:
        UserError: for a pickle that names anything but numpy arrays, or that is no CIFAR-10 batch.
    """
    batch = unpickle(io.BytesIO(content), where)
    batch = {} if not isinstance(batch, dict) else batch
    data, labels = batch.get(b"data"), batch.get(b"labels")
    if not isinstance(labels, list) or not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
        raise UserError(f"{where} is refused: its labels are no list of numbers from 0 to 255")
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != (len(labels), PIXELS):
        raise UserError(
            f"{where} is refused: its data is not {len(labels)} rows of {PIXELS} bytes, a row for each label"
        )
    return data.reshape(len(labels), 3, 32, 32), np.array(labels, np.uint8)


def write_stand_in(folder: Path, settings: Mapping[str, int]) -> Path:
    """Write `cifar-10-binary.tar.gz` into `folder`, always with the same images, as many as the settings say."""
    rng = np.random.default_rng(0)
    train = -(-(settings["train"] + settings["dev"]) // 5)
    sizes = {f"data_batch_{i}": train for i in range(1, 6)} | {"test_batch": settings["test"]}
    files = {f"cifar-10-batches-bin/{name}.bin": _records(rng, count) for name, count in sizes.items()}
    return write_tar(folder / "cifar-10-binary.tar.gz", files)


def _records(rng: np.random.Generator, count: int) -> bytes:
    """Draw stripes in random colours with noise; the width of the stripes is the label + 1."""
    labels = np.arange(count) % 10
    stripes = np.arange(32)[None, :] // (labels[:, None] + 1) % 2
    planes = stripes[:, None, None, :] * rng.integers(60, 200, (count, 3, 1, 1)) + rng.integers(
        0, 50, (count, 3, 32, 32)
    )
    return np.concatenate([labels[:, None], planes.reshape(count, -1)], axis=1).astype(np.uint8).tobytes()


class Image(RowsBuilder):
    """60,000 photographs of ten classes, of which 10,000 are for the test."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "CIFAR-10: photographs of ten classes, 32 × 32 pixels in red, green and blue."
    HOMEPAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
    CITATION = """
@techreport{krizhevsky2009learning, title={Learning Multiple Layers of Features from Tiny Images}, author={Alex
Krizhevsky}, institution={University of Toronto}, year={2009}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: colour planes `[3, 32, 32]`, and the class."""
        return {
            "planes": tfds.features.Tensor(shape=(3, 32, 32), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(names=list(CLASSES)),
        }


def open_source(request: Request) -> Source:
    """Open the source that the request names."""
    path = locate(request, NAMES, archive=DOWNLOADED["image"], generates="image" in GENERATED)
    if path is None:
        splits = _with_dev(read_archive(write_stand_in(request.scratch, request.settings), request.tick))
        origin = "stand-in"
        facts: dict[str, object] = {"generator": "data_prep.image.source"}
    elif is_pickle(path):
        pickles = Pickles.open(request, path, "image", PICKLED_BENCHMARK, **PICKLED)
        splits = {split: _grey(pickles.rows(split)) for split in PICKLED_BENCHMARK}
        origin, facts = pickles.origin({split: len(part[1]) for split, part in splits.items()}, PICKLED_BENCHMARK)
    elif is_parquet(path):
        files = Parquet.open(request, path, HUB, tuple(BENCHMARK), "img.bytes")
        origin, facts = files.origin(BENCHMARK)
        facts["split"] = {"how": "own"}  # of the rows of the files, whose order need not be the archive's
        splits = _with_dev({split: _decoded(files.rows(split)) for split in BENCHMARK})
    else:
        images = read_archive(path, request.tick)
        counts = {split: len(labels) for split, (_, labels) in images.items()}
        origin, facts = determine_origin(request, path, (BINARY, PYTHON), counts, BENCHMARK)
        splits = _with_dev(images)
    chosen = {split: evenly_spaced(len(part[1]), request.settings[split]) for split, part in splits.items()}
    rows = {split: partial(_rows, part, chosen[split]) for split, part in splits.items()}
    side = request.settings["side"]
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Image(rows=rows, settings=request.settings, config=request.size, data_dir=folder),
        encode=lambda record: _encode(record, side),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts={split: len(numbers) for split, numbers in chosen.items()},
    )


def _with_dev(images: dict[str, Images]) -> dict[str, Images]:
    planes, labels = images["train"]
    dev = len(labels) - len(labels) // DEV_SHARE
    return {"train": (planes[:dev], labels[:dev]), "dev": (planes[dev:], labels[dev:]), "test": images["test"]}


def _decoded(rows: Iterable[ParquetRow]) -> Images:
    """Decode PNGs to planes."""
    pairs = [(decode_png(content, where, side=32, mode="RGB"), label) for where, content, label in rows]
    pixels = np.array([image for image, _ in pairs], np.uint8).reshape(-1, 32, 32, 3)
    return pixels.transpose(0, 3, 1, 2), np.array([label for _, label in pairs], np.uint8)


def _grey(rows: Iterable[tuple[list[np.ndarray], int]]) -> Images:
    """Make the planes of grey images, which are equal: `encode` gives the grey level back."""
    pairs = [(levels.astype(np.uint8), label) for (levels,), label in rows]
    grey = np.array([levels for levels, _ in pairs], np.uint8).reshape(-1, 1, 32, 32)
    return np.broadcast_to(grey, (len(pairs), 3, 32, 32)), np.array([label for _, label in pairs], np.uint8)


def _rows(images: Images, numbers: list[int]) -> Iterator[Row]:
    planes, labels = images
    for i in numbers:
        yield {"planes": planes[i], "label": int(labels[i])}


def _encode(record: Row, side: int) -> Example:
    return [encode(record["planes"], side)], int(record["label"])
