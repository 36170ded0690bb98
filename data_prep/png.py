"""Decode a PNG of a known size; nothing is unpacked of one of another size."""

import io

import numpy as np
from PIL import Image, UnidentifiedImageError

from data_prep.first_bytes import HEAD_BYTES, form_of, refuse_form
from lra.types import UserError


def decode_png(content: bytes, name: str, *, side: int, mode: str) -> np.ndarray:
    """Decode a PNG to levels, `[side, side]` for `mode="L"` (grey), `[side, side, 3]` for `mode="RGB"`.

    Raises:
        UserError: with `name`, for content that is no PNG of this size.
    """
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != (side, side):
                raise UserError(f"{name} is {image.size[0]} × {image.size[1]} pixels, not {side} × {side}")
            return np.asarray(image.convert(mode))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        form = form_of(content[:HEAD_BYTES])
        if form.name != "png":
            raise refuse_form(name, form, "a PNG") from error
        raise UserError(f"{name} is no PNG, or a broken one ({error}); fetch it again") from error
