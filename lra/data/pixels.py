"""What the tasks on pixels share: a level 0 to 255 is its own token, row by row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FIRST_ID = 0  # a black pixel is token 0, which `paper` takes for padding


def encode(image: np.ndarray, side: int) -> np.ndarray:
    """Levels `[side · side]` uint8 of an image, row by row.

    Args:
        image: `[S, S]` uint8.
        side: S, or a divisor of it: every (S / side)-th row and column.
    """
    step = len(image) // side
    return np.ascontiguousarray(image[::step, ::step]).reshape(side * side)


def square(stored: np.ndarray) -> np.ndarray:
    """The image `[side, side]` that a sequence of levels is."""
    side = round(len(stored) ** 0.5)
    return stored.reshape(side, side)


class PixelCodec:
    """Levels as an image.

    Attributes:
        version: of the dataset.
    """

    version: str

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """The image in ten characters from dark to light, one line per row of pixels."""
        rows = self.square(sequences[0]).tolist()
        return ["".join(" .:-=+*#%@"[level * 10 // 256] * 2 for level in row) for row in rows]

    def square(self, stored: np.ndarray) -> np.ndarray:
        """The image `[side, side]`."""
        return square(stored)
