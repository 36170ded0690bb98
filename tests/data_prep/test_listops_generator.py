"""The vectorised generator against one that draws a tree at a time, straight from the definition."""

import itertools
import random
import time
from collections import Counter

import numpy as np
import pytest

from data_prep.listops import generator
from data_prep.listops.generator import generate
from lra.data.listops import END, ZERO, evaluate
from lra.types import UserError

# chi-square at p = .001 for the degrees of freedom that occur below
CRITICAL = {3: 16.27, 8: 26.12, 9: 27.88}
LENGTHS = {"min_length": 30, "max_length": 300}


class TooLongError(Exception):
    """A tree that would be thrown away in any case."""


def tree(rng: random.Random, depth: int = 1, room: list[int] | None = None):
    """A digit, or (operator, arguments); given up as soon as it has more tokens than there is room for."""
    room = [LENGTHS["max_length"]] if room is None else room
    room[0] -= 1
    if room[0] < 0:
        raise TooLongError
    if depth == 10 or rng.random() > 0.25:
        return rng.randrange(10)
    return rng.choice(("MIN", "MAX", "MED", "SM")), [tree(rng, depth + 1, room) for _ in range(rng.randint(2, 10))]


def length(node) -> int:
    return 1 if isinstance(node, int) else 2 + sum(map(length, node[1]))


def value(node) -> int:
    if isinstance(node, int):
        return node
    operator, values = node[0], [value(child) for child in node[1]]
    if operator == "MED":
        return int(np.median(values))
    return {"MIN": min, "MAX": max, "SM": lambda v: sum(v) % 10}[operator](values)


def flatten(node) -> list[int]:
    if isinstance(node, int):
        return [ZERO + node]
    return [("MIN", "MAX", "MED", "SM").index(node[0]) + 1, *itertools.chain(*map(flatten, node[1])), END]


def slow(count: int) -> list[tuple[list[int], int]]:
    rng, kept = random.Random(0), []
    while len(kept) < count:
        try:
            node = tree(rng)
        except TooLongError:
            continue
        if LENGTHS["min_length"] < length(node) < LENGTHS["max_length"]:
            kept.append((flatten(node), value(node)))
    return kept


def arguments(ids) -> list[int]:
    """Number of arguments of each operator."""
    counts, stack = [], []
    for token in ids:
        if stack and token != END:
            stack[-1] += 1
        if token < END:
            stack.append(0)
        elif token == END:
            counts.append(stack.pop())
    return counts


def depth(ids) -> int:
    return int(np.max(np.cumsum([(t < END) - (t == END) for t in map(int, ids)])))


@pytest.fixture(scope="module")
def both():
    fast = list(itertools.islice(generate(0, **LENGTHS), 6000))
    return [(ids.tolist(), v) for ids, v in fast], slow(6000)


def chi_square(a: Counter, b: Counter) -> tuple[float, int]:
    total_a, total_b = sum(a.values()), sum(b.values())
    keys = [key for key in a | b if a[key] + b[key] >= 10]
    statistic = sum(
        (a[key] * (total_b / total_a) ** 0.5 - b[key] * (total_a / total_b) ** 0.5) ** 2 / (a[key] + b[key])
        for key in keys
    )
    return statistic, len(keys) - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "feature",
    [lambda e: [e[1]], lambda e: [depth(e[0])], lambda e: [t for t in e[0][:1]], lambda e: arguments(e[0])[-1:]],
    ids=["label", "depth", "root operator", "root arguments"],
)
def test_the_distribution_is_the_recursive_one(both, feature):
    fast, slow_ones = (Counter(itertools.chain(*map(feature, side))) for side in both)
    statistic, freedom = chi_square(fast, slow_ones)
    assert statistic < CRITICAL.get(freedom, freedom + 4.5 * (2 * freedom) ** 0.5)


@pytest.mark.slow
def test_the_lengths_are_the_recursive_ones(both):
    fast, slow_ones = (np.sort([len(ids) for ids, _ in side]) for side in both)
    grid = np.arange(*LENGTHS.values())
    gap = np.abs(np.searchsorted(fast, grid) / len(fast) - np.searchsorted(slow_ones, grid) / len(slow_ones)).max()
    assert gap < 1.95 * (2 / len(fast)) ** 0.5, "Kolmogorov-Smirnov at p = .001"
    assert fast[0] > LENGTHS["min_length"]
    assert fast[-1] < LENGTHS["max_length"]


@pytest.mark.slow
def test_values_are_those_of_the_evaluator(both):
    for ids, v in both[0][:500]:
        assert evaluate(np.array(ids)) == v
    for ids, v in both[1][:100]:
        assert evaluate(np.array(ids)) == v, "the evaluator and the recursive definition agree"


def test_same_seed_same_expressions_and_none_twice():
    first, again, other = (
        [ids.tobytes() for ids, _ in itertools.islice(generate(seed, min_length=1, max_length=8), 300)]
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert len(set(first)) == 300


@pytest.mark.slow
def test_more_expressions_than_there_are_is_one_line(monkeypatch):
    monkeypatch.setattr(generator, "FRUITLESS_DRAWS", 20)
    with pytest.raises(UserError, match=r"there are 400 ListOps expressions of more than 3 and fewer than 5 tokens"):
        list(generator.generate(0, min_length=3, max_length=5))


@pytest.mark.slow
def test_two_thousand_full_length_sequences_a_second():
    began = time.process_time()
    list(itertools.islice(generate(0, min_length=500, max_length=2000), 8000))
    assert 8000 / (time.process_time() - began) > 2000
