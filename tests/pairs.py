"""A few pairs of a product for the fast tests, all of them for the slow ones."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def each_once(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs that have every value of either at least once."""
    return [(first[k % len(first)], second[k % len(second)]) for k in range(max(len(first), len(second)))]


def each_and_all(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """All pairs, for `parametrize`; those beyond `each_once` are slow."""
    fast = set(each_once(first, second))
    return [pytest.param(*pair, marks=() if pair in fast else pytest.mark.slow) for pair in product(first, second)]


def each_and_all_triples(first: Sequence[Any], second: Sequence[Any], third: Sequence[Any]) -> list[Any]:
    """All triples, for `parametrize`; those beyond `each_once` of the first two, the third in turns, are slow."""
    fast = {(*pair, third[k % len(third)]) for k, pair in enumerate(each_once(first, second))}
    triples = product(first, second, third)
    return [pytest.param(*triple, marks=() if triple in fast else pytest.mark.slow) for triple in triples]
