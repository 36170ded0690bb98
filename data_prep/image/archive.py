"""Read the CIFAR-10 archives, binary or Python version, packed or unpacked."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from data_prep.archives import Tick, read_files
from data_prep.image.pickled import read_batch
from lra.types import UserError

BATCH_FILE = re.compile(r"cifar-10-batches-(?:bin|py)/(data_batch_[1-5]|test_batch)(?:\.bin)?")
RECORD_BYTES = 1 + 3 * 32 * 32  # a label and three colour planes
LARGEST_BYTES = 10_000 * (RECORD_BYTES + 32) + (1 << 20)  # a pickle also has file names and other entries
Images = tuple[np.ndarray, np.ndarray]  # planes [n, 3, 32, 32], labels [n]


def read(path: Path, tick: Tick) -> dict[str, Images]:
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
