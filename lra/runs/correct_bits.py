"""Store which test examples a model predicted right as text in a record: one bit per example, in the split's order."""

from __future__ import annotations

import base64

import numpy as np


def pack_correct(correct: np.ndarray) -> str:
    """Pack booleans `[examples]` into bits, and encode the bytes in base64."""
    return base64.b64encode(np.packbits(correct.astype(bool)).tobytes()).decode("ascii")


def unpack_correct(text: str, count: int) -> np.ndarray:
    """Decode the text of `pack_correct` to `count` booleans.

    Raises:
        ValueError: when the text is not base64, or its length does not fit `count` examples.
    """
    octets = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    if len(octets) != -(-count // 8):
        raise ValueError(f"{len(octets)} bytes cannot hold the correctness of {count} examples")
    return np.unpackbits(octets, count=count).astype(bool)
