"""Read CIFAR-10's Python batches, which are pickles, without running any code that they name.

Python 2 wrote them with few kinds of operations. Before a batch is read, its operations are checked: other kinds are
refused, and so are operations that would need more memory or time than the file's size justifies. A batch needs only
the names of numpy functions that make an array. They are replaced by a class that just keeps its arguments; any other
name is refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

import numpy as np

from lra.types import UserError

ALLOWED_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}
TEXTS = {"SHORT_BINSTRING", "BINSTRING", "BINUNICODE", "GLOBAL"}
TUPLES = {"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
PUTS = {"BINPUT", "LONG_BINPUT"}
GETS = {"BINGET", "LONG_BINGET"}
NUMBER_OPERATIONS = {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2"}
BUILDERS = {"EMPTY_DICT", "EMPTY_LIST", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "REDUCE", "BUILD"}
OPERATIONS = TEXTS | TUPLES | PUTS | GETS | NUMBER_OPERATIONS | BUILDERS | {"PROTO", "MARK", "STOP"}
MOST_OPERATIONS = 100_000  # a batch of 10,000 images has about 30,000: label, file name and its number for each image
MOST_TUPLES = 16  # a batch has 6; hashing deeply nested tuples would overflow the stack
LETTERS = 80  # letters of the file's own text in an error


class _Placeholder:
    """Replaces any object that a pickle would build: it keeps the arguments and the state, and runs nothing."""

    def __init__(self, *arguments: Any):
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_Placeholder]:
        if (module, name) not in ALLOWED_NAMES:
            raise pickle.UnpicklingError(f"it names {f'{module}.{name}':.{LETTERS}}, which no CIFAR-10 batch does")
        return _Placeholder


def read_batch(content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Read colour planes `[n, 3, 32, 32]` uint8 and labels `[n]` of a batch.

    Raises:
        UserError: for a pickle that names anything but numpy arrays, or that is no CIFAR-10 batch.
    """
    try:
        _check_operations(content)
        batch = _Reader(io.BytesIO(content), encoding="bytes").load()
        _, shape, dtype, in_columns, raw = batch[b"data"].state
        labels = batch[b"labels"]
        if not isinstance(labels, list) or not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
            raise pickle.UnpicklingError("its labels are no list of numbers from 0 to 255")
        if dtype.arguments[0] not in (b"u1", "u1") or in_columns or shape != (len(labels), 3072):
            raise pickle.UnpicklingError(f"its data is not {len(labels)} rows of 3072 bytes, a row for each label")
        planes = np.frombuffer(raw, np.uint8).reshape(len(labels), 3, 32, 32)
    except (pickle.UnpicklingError, EOFError) as error:
        raise UserError(f"{where} is refused: {error}") from error
    except Exception as error:  # a forged or broken pickle may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{where} is no CIFAR-10 batch ({reason:.{2 * LETTERS}})") from error
    return planes, np.array(labels, np.uint8)


def _check_operations(content: bytes) -> None:
    """Refuse a pickle that does more than build one tree with at most as many parts as a batch has."""
    texts: set[int] = set()  # memo numbers of texts
    before, tuples = "", 0
    for count, (operation, number, _) in enumerate(pickletools.genops(content)):
        name = operation.name
        tuples += name in TUPLES
        if name not in OPERATIONS:
            raise pickle.UnpicklingError(f"it has a {name}, which no CIFAR-10 batch has")
        if count >= MOST_OPERATIONS or tuples > MOST_TUPLES:
            raise pickle.UnpicklingError("it has more parts than a CIFAR-10 batch")
        if name in PUTS:
            assert isinstance(number, int)
            if number > MOST_OPERATIONS:  # the unpickler would allocate memory for all smaller numbers too
                raise pickle.UnpicklingError(f"it numbers a part {number:,}, more than a CIFAR-10 batch has")
            if before in TEXTS:
                texts.add(number)
            else:
                texts.discard(number)
        if name in GETS and number not in texts:  # lists that contain each other several times grow exponentially
            raise pickle.UnpicklingError("it uses a part twice, which no CIFAR-10 batch does")
        before = before if name in PUTS else name
