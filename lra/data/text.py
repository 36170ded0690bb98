"""Text as bytes: a byte's id is its value + 1, because id 0 is padding; there are 257 ids."""

import textwrap
from collections.abc import Mapping

import numpy as np

from lra.data.codec import Codec, first_lines

VERSION = "1.0.0"  # version of the dataset; a store of another version is refused
FIRST_ID = 1  # added on loading; bytes are stored unchanged
MOST_LINES = 8  # largest number of lines of a shown text


def encode(raw: bytes) -> np.ndarray:
    """Convert bytes, which need not be valid UTF-8, to the stored array of uint8."""
    return np.frombuffer(raw, np.uint8)


def raw(ids: np.ndarray) -> bytes:
    """Convert token ids, 1 to 256, to bytes."""
    return (ids - FIRST_ID).astype(np.uint8).tobytes()


def decode(stored: np.ndarray) -> str:
    """Convert stored bytes to text; bytes that are not valid UTF-8 become `�`."""
    return stored.tobytes().decode(errors="replace")


def is_utf8(text: bytes) -> bool:
    """Tell whether bytes are valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class TextCodec(Codec):
    """Shows bytes as text."""

    version = VERSION

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Write the first lines of each sequence, and how many more lines there are."""
        lines = []
        for number, stored in enumerate(sequences):
            if len(sequences) > 1:
                lines.append(f"document {number + 1}, {len(stored):,} bytes")
            lines += wrapped(decode(stored))
        return lines


def wrapped(text: str) -> list[str]:
    """Wrap a text; return its first lines, and a line that says how many more there are."""
    return first_lines(textwrap.wrap(text, 100) or ["(empty)"], MOST_LINES)
