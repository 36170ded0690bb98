"""The interface of a codec, which shows a task's stored sequences to a person, and the codec of images.

In the image tasks each pixel's level, 0 to 255, is a token; pixels are read row by row.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

FIRST_ID = 0  # a black pixel is token 0, which protocol=paper treats as padding


class Codec(Protocol):
    """Interface of the class that `codec:` in a task's YAML file names; a store of another `version` is refused."""

    version: str

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Write the stored numbers of an example's N sequences as lines of text, with the manifest's `facts`."""

    def square(self, stored: np.ndarray) -> np.ndarray | None:
        """Convert a stored sequence to an image `[side, side]` of levels 0 to 255; None, the default, if it is none."""
        return None


def first_lines(lines: list[str], most: int) -> list[str]:
    """Return the first lines, and a line that says how many more there are."""
    more = [f"… {len(lines) - most} more lines"] if len(lines) > most else []
    return lines[:most] + more


def images(codec: Codec, sequences: list[np.ndarray]) -> list[np.ndarray]:
    """Convert stored sequences to images; the list is empty if the task has no images."""
    return [image for stored in sequences if (image := codec.square(stored)) is not None]


def encode_pixels(image: np.ndarray, side: int) -> np.ndarray:
    """Convert an image `[S, S]` uint8 to levels `[side · side]` uint8, by rows: every (S / side)-th row and column."""
    step = len(image) // side
    return np.ascontiguousarray(image[::step, ::step]).reshape(side * side)


class PixelCodec(Codec):
    """Shows a sequence of levels as an image."""

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Draw the image with ten characters from dark to light, one line per row of pixels."""
        rows = self.square(sequences[0]).tolist()
        return ["".join(" .:-=+*#%@"[level * 10 // 256] * 2 for level in row) for row in rows]

    def square(self, stored: np.ndarray) -> np.ndarray:
        """Convert the sequence to its image `[side, side]`."""
        side = round(len(stored) ** 0.5)
        return stored.reshape(side, side)
