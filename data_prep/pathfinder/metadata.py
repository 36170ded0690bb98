"""Read `metadata/N.npy` of Pathfinder: a line or row for each image, with its folder, file, number, label and more.

The benchmark's files are text, in spite of their ending. Other copies of the generator write arrays of texts or of
objects by `np.save`; of the latter, which numpy would unpickle, the operations are read, and nothing is executed.
"""

import io
import math
from collections.abc import Iterator

import numpy as np

from data_prep.first_bytes import HEAD_BYTES, form_of
from data_prep.unpickle import unpickle_objects
from lra.types import UserError

LABELS = {"0": 0, "0.0": 0, "1": 1, "1.0": 1}
LABEL_COLUMN = 3
LETTERS = 60  # letters of the file's own text in an error
Cells = list[str]


def read_metadata(content: bytes, where: str) -> Iterator[tuple[str, str, int]]:
    """Yield for each image where it stands, its name, such as `imgs/0/sample_3.png`, and its label, 0 or 1.

    Args:
        content: the file.
        where: how the file is named in errors.

    Raises:
        UserError: with file and line, for a file of another form, and for a line without the label 0 or 1.
    """
    rows = _saved_rows(content, where) if form_of(content[:HEAD_BYTES]).name == "npy" else _text_rows(content)
    for number, cells in enumerate(rows, start=1):
        location = f"{where}, line {number}"
        if len(cells) <= LABEL_COLUMN or cells[LABEL_COLUMN] not in LABELS:
            line = f"{location}: {' '.join(cells)!r:.{LETTERS}} has no label 0 or 1 in column {LABEL_COLUMN + 1}"
            raise UserError(line, kind="wrong_label", key=location)
        yield location, f"{cells[0]}/{cells[1]}", LABELS[cells[LABEL_COLUMN]]


def _text_rows(content: bytes) -> Iterator[Cells]:
    for line in content.decode("utf-8-sig", errors="replace").splitlines():
        yield line.split()


def _saved_rows(content: bytes, where: str) -> Iterator[Cells]:
    """Yield the rows of an array `[images, columns]`, or `[images]` of lines or of lists of cells."""
    file = io.BytesIO(content)
    try:
        array = _saved_array(file, where)
    except (ValueError, TypeError, EOFError, OverflowError) as error:
        if isinstance(error, UserError):
            raise
        reason = f"{' '.join(str(error).split()):.{2 * LETTERS}}"
        raise UserError(f"{where} cannot be read as an array of numpy ({reason}); fetch it again", key=where) from error
    if array.ndim not in (1, 2):
        shape = list(array.shape)
        raise UserError(f"{where} is an array of the shape {shape}, not [images, columns]", key=where, value=shape)
    for row in array.tolist():
        if isinstance(row, list | tuple):
            yield [_cell(part) for part in row]
        else:
            yield _cell(row).split()


def _saved_array(file: io.BytesIO, where: str) -> np.ndarray:
    """Read the array of an open NPY file.

    Raises:
        UserError: for an array of numbers, and for a forged pickle.
        ValueError, TypeError, EOFError: for a damaged file.
    """
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = read_header(file)
    if dtype.hasobject and dtype.names is None:
        array = unpickle_objects(file, where)
        found = array.shape if isinstance(array, np.ndarray) else type(array).__name__
        if found != shape:
            raise ValueError(f"it holds {found} for the shape {shape}")
        return np.asarray(array)
    if dtype.kind not in "US":
        raise UserError(f"{where} is an array of {dtype}, which has no file names", key=where, value=str(dtype))
    raw = file.read()
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"it has {len(raw):,} bytes for the shape {shape} of {dtype}")
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if in_columns else "C")


def _cell(part: object) -> str:
    return part.decode("latin1") if isinstance(part, bytes) else str(part)
