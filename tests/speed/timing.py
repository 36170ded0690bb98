"""Timing in turns."""

import time
from collections.abc import Callable


def in_turns(*functions: Callable[[], object], turns: int) -> list[list[float]]:
    """Seconds of each function in each turn, one after the other; a first turn is not counted."""
    seconds: list[list[float]] = [[] for _ in functions]
    for turn in range(turns + 1):
        for own, function in zip(seconds, functions, strict=True):
            began = time.perf_counter()
            function()
            if turn:
                own.append(time.perf_counter() - began)
    return seconds
