"""How a task's stored sequences are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class Codec(Protocol):
    """What `codec:` in a task's file names; how its sequences come to be is the affair of its `open_source:`.

    Attributes:
        version: of the dataset; a store of another one is refused.
    """

    version: str

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """An example as lines for a person.

        Args:
            sequences: what is stored of its N sequences.
            facts: what the manifest says of the source.
        """

    def square(self, stored: np.ndarray) -> np.ndarray | None:
        """The image `[side, side]`, levels 0 to 255, that a sequence is; None if it is none."""


def images(codec: Codec, sequences: list[np.ndarray]) -> list[np.ndarray]:
    """The images that sequences are; none if the task has no images."""
    return [image for stored in sequences if (image := codec.square(stored)) is not None]
