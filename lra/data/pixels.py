"""Functions that the image tasks share: each pixel's level, 0 to 255, is a token; pixels are read row by row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FIRST_ID = 0  # a black pixel is token 0, which protocol=paper treats as padding


def encode(image: np.ndarray, side: int) -> np.ndarray:
    """Convert an image to levels `[side · side]` uint8, row by row.

    Args:
        image: `[S, S]` uint8.
        side: S or a divisor of S; every (S / side)-th row and column is used.
    """
    step = len(image) // side
    return np.ascontiguousarray(image[::step, ::step]).reshape(side * side)


def square(stored: np.ndarray) -> np.ndarray:
    """Convert a sequence of levels to its image `[side, side]`."""
    side = round(len(stored) ** 0.5)
    return stored.reshape(side, side)


class PixelCodec:
    """Shows a sequence of levels as an image.

    Attributes:
        version: version of the dataset.
    """

    version: str

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Draw the image with ten characters from dark to light, one line per row of pixels."""
        rows = self.square(sequences[0]).tolist()
        return ["".join(" .:-=+*#%@"[level * 10 // 256] * 2 for level in row) for row in rows]

    def square(self, stored: np.ndarray) -> np.ndarray:
        """Convert the sequence to its image `[side, side]`."""
        return square(stored)
