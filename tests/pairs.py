"""A few pairs of a product for the fast tests, all of them for the slow ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def each_once(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs that have every word of either at least once."""
    return [(first[k % len(first)], second[k % len(second)]) for k in range(max(len(first), len(second)))]


def each_and_all(first: Sequence[str], second: Sequence[str]) -> list[Any]:
    """All pairs, for `parametrize`; those beyond `each_once` are slow."""
    fast = set(each_once(first, second))
    return [pytest.param(*pair, marks=() if pair in fast else pytest.mark.slow) for pair in product(first, second)]
