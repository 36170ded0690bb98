"""Token ids of a file of the user's own: 0 is padding; of words, 1 is a word that the training split has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lra.data.text import wrapped

VERSION = "1.0.0"  # of the way such a file is read; a store of another one is refused
UNKNOWN = "<unk>"


class TokenCodec:
    """Ids as numbers, or as the words that they stand for."""

    version = VERSION

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, Any]) -> list[str]:
        """The tokens in lines; id k is word k - 1 of the source's `vocabulary`."""
        words = ["<pad>", *facts.get("vocabulary", [])]
        return [
            line
            for stored in sequences
            for line in wrapped(" ".join(words[i] if i < len(words) > 1 else str(i) for i in stored.tolist()))
        ]

    def square(self, stored: np.ndarray) -> None:
        """No image."""
