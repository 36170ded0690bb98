"""Read a folder of PNG files by class, `CLASS/NAME.png` or `SPLIT/CLASS/NAME.png`: a token is a pixel's grey level."""

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from data_prep.first_bytes import HEAD_BYTES
from data_prep.png import refuse_other_formats
from data_prep.tokens.collect import PIXELS, Rows
from data_prep.tokens.table import Table
from lra.base.files import regular_file
from lra.data.manifest import SPLITS
from lra.types import UserError

MOST_SIDE = 1024
MODES = ("1", "L", "P", "RGB")  # of Pillow; others have transparency, or more than 256 levels
LAYOUT = "the images are CLASS/NAME.png, or train/CLASS/NAME.png, test/CLASS/NAME.png and perhaps dev/CLASS/NAME.png"
# What Pillow raises for a forged or damaged file.
UNREADABLE = (OSError, SyntaxError, ValueError, struct.error, zlib.error, MemoryError, OverflowError)


def read_images(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read all images, see `read_table`; colours become grey, as luma of ITU-R 601 (Pillow's mode L).

    Raises:
        UserError: with the file, when it is no such image, or not of the first one's size.
    """
    folders = _inside(path, folders=True)
    has_splits = {"train", "test"} <= {folder.name for folder in folders}
    side = None
    with Rows(path, scratch, PIXELS, None) as rows:
        for split in folders if has_splits else [path]:
            if has_splits and split.name not in SPLITS:
                raise UserError(f"{split} is beside train and test, but is no split; {LAYOUT}")
            for of_class in _inside(split, folders=True) if has_splits else folders:
                for file in _inside(of_class, folders=False):
                    levels = _levels(file)
                    side = side or len(levels)
                    if len(levels) != side:
                        raise UserError(f"{file} is {len(levels)} pixels wide, others {side}; scale it to {side}")
                    rows.add(levels.reshape(-1), of_class.name, split.name if has_splits else None)
    return rows.table()


def _inside(folder: Path, *, folders: bool) -> list[Path]:
    """List what is in a folder, which must be only folders or only PNG files; hidden files do not count."""
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    for path in paths:
        if path.is_dir() != folders or (not folders and path.suffix.lower() != ".png"):
            raise UserError(f"{path} is no {'folder of a class' if folders else 'PNG file'}; {LAYOUT}")
    if not paths:
        raise UserError(f"{folder} is empty; {LAYOUT}")
    return paths


def _levels(file: Path) -> np.ndarray:
    """Read an image's grey levels `[S, S]` uint8."""
    from PIL import Image

    with regular_file(file).open("rb") as opened:
        refuse_other_formats(opened.read(HEAD_BYTES), str(file), "save it as PNG")
    try:
        with Image.open(file, formats=["PNG"]) as image:
            size = " × ".join(map(str, image.size))
            if image.width != image.height or image.width > MOST_SIDE:
                raise UserError(f"{file} has {size} pixels; images are square, with at most {MOST_SIDE} pixels a side")
            if image.mode not in MODES or "transparency" in image.info:
                raise UserError(f"{file} ({image.mode}) is transparent or has over 256 levels; save it as grey or RGB")
            return np.asarray(image.convert("L"))
    except (*UNREADABLE, Image.DecompressionBombError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{file} cannot be read as PNG: {' '.join(str(error).split())}") from error
