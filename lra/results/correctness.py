"""Which test examples a model got right, as text that fits into a record: one bit per example, in the split's order."""

from __future__ import annotations

import base64

import numpy as np


def pack_correct(correct: np.ndarray) -> str:
    """Booleans `[examples]` as base64 of their bits, eight to a byte."""
    return base64.b64encode(np.packbits(correct.astype(bool)).tobytes()).decode("ascii")


def unpack_correct(text: str, count: int) -> np.ndarray:
    """The first `count` booleans of `pack_correct`'s text.

    Raises:
        ValueError: when the text is not base64, or holds another number of bytes than `count` bits need.
    """
    octets = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    if len(octets) != -(-count // 8):
        raise ValueError(f"{len(octets)} bytes cannot hold the correctness of {count} examples")
    return np.unpackbits(octets, count=count).astype(bool)
