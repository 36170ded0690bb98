"""What a task's preparation hands to the road from source to store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a task's examples come from, and how they become ids.

    Attributes:
        origin: `official` (hash verified), `altered`, `generated` or `stand-in`.
        facts: what the manifest says of the source.
        make_builder: from the TFDS folder to the builder.
        encode: from one TFDS record to the ids of its N sequences and the label.
        dtype: of the ids.
        counts: examples per split, for progress.
    """

    origin: str
    facts: dict[str, Any]
    make_builder: Callable[[str], Any]
    encode: Callable[[dict[str, Any]], tuple[list[np.ndarray], int]]
    dtype: type
    counts: dict[str, int]
