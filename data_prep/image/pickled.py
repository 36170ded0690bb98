"""Read CIFAR-10's Python batches: each is a pickled dictionary with the images, their labels and file names."""

import io

import numpy as np

from data_prep.unpickle import unpickle
from lra.types import UserError

PIXELS = 3 * 32 * 32


def read_batch(content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Read colour planes `[n, 3, 32, 32]` uint8 and labels `[n]` of a batch.

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
