"""Decode a PNG of a known size; nothing is unpacked of one of another size."""

import io

import numpy as np
from PIL import Image, UnidentifiedImageError

from lra.types import UserError

# How the files of each format begin, and at which byte that stands.
BEGINNINGS = (
    ("PNG", 0, b"\x89PNG\r\n\x1a\n"),
    ("JPEG", 0, b"\xff\xd8\xff"),
    ("GIF", 0, b"GIF8"),
    ("BMP", 0, b"BM"),
    ("TIFF", 0, b"II*\x00"),
    ("TIFF", 0, b"MM\x00*"),
    ("WEBP", 8, b"WEBP"),
)
BEGINNING_BYTES = 16  # of a file, which `image_format` needs


def decode_png(content: bytes, name: str, *, side: int, mode: str) -> np.ndarray:
    """Decode a PNG to levels, `[side, side]` for `mode="L"` (grey), `[side, side, 3]` for `mode="RGB"`.

    Raises:
        UserError: with `name`, for content that is no PNG of this size.
    """
    refuse_other_formats(content, name, "the pixels of the data set are those of its PNG files; fetch these")
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != (side, side):
                raise UserError(f"{name} is {image.size[0]} × {image.size[1]} pixels, not {side} × {side}")
            return np.asarray(image.convert(mode))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        # Pillow's text of the first names an object in memory.
        why = "its head is wrong" if isinstance(error, UnidentifiedImageError) else error
        raise UserError(f"{name} is a broken PNG ({why}); fetch it again", kind="broken_png") from error


def refuse_other_formats(content: bytes, name: str, remedy: str) -> None:
    """Refuse content that does not begin as a PNG, such as a JPEG, whose pixels are not those of what it was made from.

    Raises:
        UserError: with `name`, the format and the remedy.
    """
    form = image_format(content)
    if form != "PNG":
        found = "no image of a known format" if form is None else f"a {form}"
        raise UserError(f"{name} is no PNG, but {found}; {remedy}", kind="no_png", value=form)


def image_format(content: bytes) -> str | None:
    """Tell the format of an image by its first bytes; None: another one, or no image."""
    return next((form for form, place, begin in BEGINNINGS if content[place:].startswith(begin)), None)
