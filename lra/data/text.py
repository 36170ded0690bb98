"""Text as bytes: the id of a byte is its value + 1, so that 0 is padding; 257 ids in all."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np

VERSION = "1.0.0"  # of the dataset; a store of another one is refused
FIRST_ID = 1  # bytes are stored as they are; this is added on loading


def encode(raw: bytes) -> np.ndarray:
    """What is stored of a text: its bytes, valid UTF-8 or not, uint8."""
    return np.frombuffer(raw, np.uint8)


def decode(stored: np.ndarray) -> str:
    """The text; bytes that are no UTF-8 are shown as `�`."""
    return stored.tobytes().decode(errors="replace")


def is_utf8(text: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class TextCodec:
    """Bytes as text."""

    version = VERSION

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Each sequence as wrapped lines, the first ones of it, with what was left out."""
        lines = []
        for number, stored in enumerate(sequences):
            if len(sequences) > 1:
                lines.append(f"document {number + 1}, {len(stored):,} bytes")
            lines += wrapped(decode(stored))
        return lines

    def square(self, stored: np.ndarray) -> None:
        """No image."""


def wrapped(text: str, most_lines: int = 8) -> list[str]:
    """The first lines of a text, and how many more there are."""
    lines = textwrap.wrap(text, 100) or ["(empty)"]
    more = [f"… {len(lines) - most_lines} more lines"] if len(lines) > most_lines else []
    return lines[:most_lines] + more
