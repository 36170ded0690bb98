"""Decode a PNG of a known size; nothing is unpacked of one of another size."""

import io

import numpy as np
from PIL import Image, UnidentifiedImageError

from data_prep.first_bytes import HEAD_BYTES, form_of
from lra.types import UserError


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
        UserError: with `name`, the form that the content has, and the remedy.
    """
    form = form_of(content[:HEAD_BYTES])
    if form.name != "png":
        raise UserError(f"{name} is {form.says}, not a PNG; {remedy}", kind="wrong_form", key=name, value=form.name)
