"""Token ids from a file of the user's own: id 0 is padding, but in images.

Id 1 is a word or character that is not in the training split; a byte's id is its value + 1; a pixel's is its level.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lra.data.codec import Codec, PixelCodec
from lra.data.text import decode, wrapped

VERSION = "1.0.0"  # version of the way such a file is read; a store of another version is refused
UNKNOWN = "<unk>"


class TokenCodec(Codec):
    """Shows ids as numbers, or as what they stand for: bytes, characters or words."""

    version = VERSION

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, Any]) -> list[str]:
        """Write the tokens in lines; id k is word k - 1 of the source's `vocabulary`."""
        if facts.get("tokens") == "bytes":
            return [line for stored in sequences for line in wrapped(decode((stored - 1).astype(np.uint8)))]
        words, between = ["<pad>", *facts.get("vocabulary", [])], "" if facts.get("tokens") == "characters" else " "
        return [
            line
            for stored in sequences
            for line in wrapped(between.join(words[i] if i < len(words) > 1 else str(i) for i in stored.tolist()))
        ]


class LevelCodec(PixelCodec):
    """Shows a sequence as an image."""

    version = VERSION
