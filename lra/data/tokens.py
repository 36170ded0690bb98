"""Token ids from a file of the user's own: id 0 is padding; id 1 is a word that is not in the training split."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lra.data.text import wrapped

VERSION = "1.0.0"  # version of the way such a file is read; a store of another version is refused
UNKNOWN = "<unk>"


class TokenCodec:
    """Shows ids as numbers, or as words if the source has a vocabulary."""

    version = VERSION

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, Any]) -> list[str]:
        """Write the tokens in lines; id k is word k - 1 of the source's `vocabulary`."""
        words = ["<pad>", *facts.get("vocabulary", [])]
        return [
            line
            for stored in sequences
            for line in wrapped(" ".join(words[i] if i < len(words) > 1 else str(i) for i in stored.tolist()))
        ]

    def square(self, stored: np.ndarray) -> None:
        """Return None, because a sequence is no image."""
