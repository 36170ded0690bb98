"""Predict from smaller lengths what a length needs, so that what does not fit is left out before it is tried."""

from __future__ import annotations

from collections.abc import Sequence

MEMORY_SHARE = 0.45  # of the free memory, what a pass may take by its prediction: the process may hold twice as much


def predict(points: Sequence[tuple[int, float]], length: int) -> float:
    """Extend a cost from the last two lengths by a·L + c·L² with a and c of at least 0.

    This is exact for a cost that grows with L or with L², and too high for what grows more slowly than L.

    Args:
        points: (length, cost) of smaller lengths, in growing order, at least two, none of them twice.
        length: L of the prediction.
    """
    (first, low), (last, high) = points[-2:]
    rate_first, rate_last = low / first, high / last
    quadratic = max(0.0, (rate_last - rate_first) / (last - first))
    linear = rate_last - quadratic * last
    if linear < 0:
        linear, quadratic = 0.0, rate_last / last
    return linear * length + quadratic * length**2
