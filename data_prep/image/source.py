"""Image: CIFAR-10, from its binary or Python archive, downloaded or local, its folder, parquet, or pickles in grey."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.archives import Tick, read_files, two_folders, write_tar
from data_prep.builder import Row, RowsBuilder
from data_prep.forms import CIFAR_BINARY as BINARY
from data_prep.forms import CIFAR_ON_HUB as HUB
from data_prep.forms import CIFAR_PYTHON as PYTHON
from data_prep.forms import DOWNLOADED, GENERATED, names_of
from data_prep.left_out import LeftOut, beyond_size, check_left_out, left_out_facts
from data_prep.parquet import Parquet
from data_prep.parquet import Row as ParquetRow
from data_prep.parquet_files import is_parquet
from data_prep.png import decode_png
from data_prep.released_pickles import Pickles, is_pickle
from data_prep.source import Request, Source, determine_origin, evenly_spaced, locate
from data_prep.unpickle import unpickle, with_text_keys
from lra.data.image import CLASSES, FIRST_ID, VERSION, encode
from lra.data.writer import Example
from lra.types import UserError

BATCH_FILE = re.compile(r"((?:.*/)?)(data_batch_\d+|test_batch)(\.bin)?")
TRAIN_BATCHES, TEST_BATCH = tuple(f"data_batch_{i}" for i in range(1, 6)), "test_batch"
BATCH_NAMES = (*TRAIN_BATCHES, TEST_BATCH)
PATTERNS = ("data_batch_*", "test_batch*")  # of the batches in their folder
PICKLE_BEGINS = b"\x80"
PIXELS = 3 * 32 * 32
RECORD_BYTES = 1 + PIXELS  # a label and three colour planes
# A pickle has file names and other entries too, and in protocol 2 two bytes for a level above 127.
LARGEST_BYTES = 10_000 * (2 * PIXELS + 64) + (1 << 20)
Images = tuple[np.ndarray, np.ndarray]  # planes [n, 3, 32, 32], labels [n]
NAMES = names_of("image")
BENCHMARK = {"train": 50_000, "test": 10_000}
PICKLED_BENCHMARK = {"train": 45_000, "dev": 5_000, "test": 10_000}
PICKLED = {"ids": 32 * 32, "padding": 0, "largest": 255}
DEV_SHARE = 10  # the dev split is the last tenth of the training images, in the archive's order


@dataclass(frozen=True)
class Batches:
    """The batches of one folder.

    Attributes:
        images: colour planes and labels of train and test, in the order of the batches.
        further: number of images in batches that CIFAR-10 does not have, such as `data_batch_6`.
    """

    images: dict[str, Images]
    further: int


def read_archive(path: Path, tick: Tick) -> dict[str, Images]:
    """Read the images of an archive or a folder, as `read_batches`."""
    return read_batches(path, tick, BATCH_FILE).images


def read_batches(path: Path, tick: Tick, pattern: re.Pattern[str]) -> Batches:
    """Read the batches of an archive or a folder; `pattern` is that of their names, with three groups.

    Raises:
        UserError: for a broken or unsafe archive, a missing batch, batches in several folders, an image of another
            size, or a label that is not 0 to 9.
    """
    found: dict[str, dict[str, Images]] = {}  # by folder, then by name
    ending = ""
    for match, content in read_files(path, pattern, largest_bytes=LARGEST_BYTES, tick=tick):
        folder, name, ending = match.group(1), match.group(2), match.group(3) or ""
        batches, where = found.setdefault(folder, {}), f"{path}: {match.string}"
        if name in batches:
            raise UserError(f"{where} is there with the ending .bin and without it; remove one", kind="two_forms")
        batches[name] = _binary(content, where) if _is_binary(content, ending) else read_batch(content, where)
    if len(found) > 1:
        raise two_folders(path, [folder.rstrip("/") for folder in found])
    if not found:
        raise _no_batches(path)
    ((folder, batches),) = found.items()
    for name in BATCH_NAMES:
        if name not in batches:
            line = f"{path} has no {folder}{name}{ending}; put it beside the others, or fetch the archive again"
            raise UserError(line, kind="missing_file", key=str(path), value=f"{name}{ending}")
    joined = [np.concatenate([batches[name][part] for name in TRAIN_BATCHES]) for part in (0, 1)]
    further = sum(len(labels) for name, (_, labels) in batches.items() if name not in BATCH_NAMES)
    return Batches({"train": (joined[0], joined[1]), "test": batches[TEST_BATCH]}, further)


def _no_batches(path: Path) -> UserError:
    """Make the error for an archive or folder without a batch."""
    wanted = "source= wants cifar-10-binary.tar.gz, cifar-10-python.tar.gz, or one of their folders"
    if path.is_dir() and any(path.rglob("*.png")):
        return UserError(
            f"{path} has images without labels and in no order, so that train and dev cannot be told; {wanted}"
        )
    line = f"{path} has no cifar-10-batches-bin/data_batch_1.bin and no cifar-10-batches-py/data_batch_1; {wanted}"
    return UserError(line, kind="missing_file", key=str(path), value="data_batch_1")


def is_batch(path: Path) -> bool:
    """Tell whether a file is one of the batches, which stands for all that are beside it."""
    match = BATCH_FILE.fullmatch(path.name)
    return match is not None and match.group(2) in BATCH_NAMES and path.is_file()


def _beside(batch: Path) -> re.Pattern[str]:
    """Return the pattern of the names of the batches beside one, in the same form."""
    ending = re.escape(batch.suffix)
    return re.compile(rf"({re.escape(batch.parent.name)}/)(data_batch_\d+|test_batch)({ending})")


def _is_binary(content: bytes, ending: str) -> bool:
    """Tell a binary batch from a pickle by its first byte, a label; another one is told by the name."""
    first = content[:1]
    return first <= b"\x09" or (ending != "" and first != PICKLE_BEGINS)


def _binary(content: bytes, where: str) -> Images:
    whole, rest = divmod(len(content), RECORD_BYTES)
    if rest:
        raise UserError(f"{where}, image {whole}: {rest} bytes instead of {RECORD_BYTES} (a label, 3 × 32 × 32)")
    records = np.frombuffer(content, np.uint8).reshape(whole, RECORD_BYTES)
    labels = records[:, 0]
    _check_labels(labels.tolist(), where)
    return records[:, 1:].reshape(-1, 3, 32, 32), labels


def read_batch(content: bytes, where: str) -> Images:
    """Read a batch of the Python archive, a pickled dictionary: colour planes `[n, 3, 32, 32]` uint8 and labels `[n]`.

    Its keys are bytes, as Python 2 wrote them, or texts, as another program leaves them; labels are a list or an array.

    Raises:
        UserError: for a pickle that names anything but numpy arrays, or that is no CIFAR-10 batch.
    """
    batch = with_text_keys(unpickle(io.BytesIO(content), where), where)
    missing = [key for key in ("data", "labels") if key not in batch]
    if missing:
        has = ", ".join(map(repr, batch)) or "none"
        raise UserError(f"{where} is refused: it has no entry {missing[0]!r}; its entries: {has:.100}", key=where)
    data, labels = batch["data"], batch["labels"]
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        labels = labels.tolist()
    if not isinstance(labels, list):
        raise UserError(f"{where} is refused: its labels are no list, but {type(labels).__name__}", key=where)
    _check_labels(labels, where)
    found = f"{data.dtype} {list(data.shape)}" if isinstance(data, np.ndarray) else type(data).__name__
    if found != f"uint8 [{len(labels)}, {PIXELS}]":
        line = f"{where} is refused: its data is {found}, not uint8 [{len(labels)}, {PIXELS}], a row for each label"
        raise UserError(line, kind="wrong_pixels", key=where, value=found)
    return data.reshape(len(labels), 3, 32, 32), np.array(labels, np.uint8)


def _check_labels(labels: list[object], where: str) -> None:
    """Refuse a label that CIFAR-10 does not have.

    Raises:
        UserError: with the first one, in the file's own word.
    """
    for row, label in enumerate(labels):
        if type(label) is not int or not 0 <= label < len(CLASSES):
            line = f"{where}, image {row}: label {label!r:.60}, but CIFAR-10 has 0 to {len(CLASSES) - 1}"
            raise UserError(line, kind="wrong_label", key=f"{where}, image {row}", value=label)


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
    archive, generates = DOWNLOADED["image"], "image" in GENERATED
    path = locate(request, NAMES, archive=archive, generates=generates, is_part=is_batch)
    left_out: list[LeftOut] = []
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
        pattern = _beside(path) if is_batch(path) else BATCH_FILE
        path = path.parent if is_batch(path) else path
        batches = read_batches(path, request.tick, pattern)
        counts = {split: len(labels) for split, (_, labels) in batches.images.items()}
        left_out.append(LeftOut(batches.further, "images in batches that CIFAR-10 does not have"))
        check_left_out(request, path, sum(counts.values()), left_out)
        origin, facts = determine_origin(request, path, (BINARY, PYTHON), counts, BENCHMARK, patterns=PATTERNS)
        splits = _with_dev(batches.images)
    there = {split: len(part[1]) for split, part in splits.items()}
    chosen = {split: evenly_spaced(count, request.settings[split]) for split, count in there.items()}
    taken = {split: len(numbers) for split, numbers in chosen.items()}
    facts |= left_out_facts([*left_out, *beyond_size(request, there, taken)])
    rows = {split: partial(_rows, part, chosen[split]) for split, part in splits.items()}
    side = request.settings["side"]
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Image(rows=rows, settings=request.settings, config=request.size, data_dir=folder),
        encode=lambda record: _encode(record, side),
        dtype=np.uint8,
        first_id=FIRST_ID,
        counts=taken,
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
