"""The interface of a codec, which shows a task's stored sequences to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class Codec(Protocol):
    """Interface of the class that `codec:` in a task's YAML file names.

    Attributes:
        version: version of the dataset; a store of another version is refused.
    """

    version: str

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Write an example as lines of readable text.

        Args:
            sequences: the stored numbers of the example's N sequences.
            facts: the facts about the source in the store's manifest.
        """

    def square(self, stored: np.ndarray) -> np.ndarray | None:
        """Convert a stored sequence to its image `[side, side]` with levels 0 to 255; None if it is no image."""


def images(codec: Codec, sequences: list[np.ndarray]) -> list[np.ndarray]:
    """Convert stored sequences to images; the list is empty if the task has no images."""
    return [image for stored in sequences if (image := codec.square(stored)) is not None]
