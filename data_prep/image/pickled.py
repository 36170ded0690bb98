"""CIFAR-10's Python batches are pickles; these are read without running anything that they name.

The only names that such a batch needs are numpy's for an array. They are mapped to a class of ours that keeps what it
is given; any other name is refused.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from lra.types import UserError

KNOWN = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class _Kept:
    """What a pickle builds: its arguments and state, nothing done with them."""

    def __init__(self, *arguments: Any):
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_Kept]:
        if (module, name) not in KNOWN:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no CIFAR-10 batch does")
        return _Kept


def read_batch(content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Planes `[n, 3, 32, 32]` uint8 and labels `[n]` of a batch.

    Raises:
        UserError: for a pickle that names anything but an array, or holds no such batch.
    """
    try:
        batch = _Reader(io.BytesIO(content), encoding="bytes").load()
        _, shape, dtype, in_columns, raw = batch[b"data"].state
        labels = np.array(batch[b"labels"], np.uint8)
        if dtype.arguments[0] not in (b"u1", "u1") or in_columns or shape != (len(labels), 3072):
            raise pickle.UnpicklingError(f"its data is {dtype.arguments} {shape} for {len(labels)} labels")
        planes = np.frombuffer(raw, np.uint8).reshape(len(labels), 3, 32, 32)
    except (pickle.UnpicklingError, EOFError) as error:
        raise UserError(f"{where} is refused: {error}") from error
    except Exception as error:  # whatever a forged or broken pickle leads to
        raise UserError(f"{where} is no CIFAR-10 batch ({type(error).__name__}: {error})") from error
    return planes, labels
