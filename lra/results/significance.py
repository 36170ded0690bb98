"""The rule by which tables, comparisons and figures call a difference between methods significant.

Rows of one task, each with the values of its seeds, are compared with a baseline among them: one omnibus test of all
rows, then each row against the baseline. Seeds are not paired: their correlation is 0 to 0.2 in the published
tables, and a positive one makes these tests cautious.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from lra.results.statistics import (
    Interval,
    discoveries,
    hedges_g,
    kruskal_wallis,
    one_way_anova,
    pooled_t,
    ranks,
    variances_agree,
    welch_t,
)

ALPHA = 0.05  # of the omnibus test, and the false discovery rate
RANKS, POOLED = "ranks", "pooled t"
OMNIBUS = {RANKS: "Kruskal–Wallis", POOLED: "one-way ANOVA"}
TESTS = (
    "Two-sided, at a false discovery rate of 5 % in each task (Benjamini–Hochberg), if the omnibus test has p ≤ 0.05."
    " pooled t: one-way ANOVA, then a t test with the variance of all rows together, where Bartlett's test does not"
    " reject equal variances (p above 0.05); ranks: Kruskal–Wallis, then the same t test of the ranks (Conover–Iman),"
    " where it does."
)
Seeds = Mapping[str, Sequence[float]]  # the values of each row's seeds
Name = TypeVar("Name")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The rows of one task compared with one of them.

    Attributes:
        test: `POOLED` or `RANKS`.
        omnibus_p: p value of rows without any difference.
        p_values: of each other row, two-sided, not corrected.
        differences: each other row's mean minus the baseline's, in the unit of the values, with a 95 % interval for
            this row alone: of the pooled t, or of Welch's t where variances differ.
        effects: the same differences in standard deviations between seeds (Hedges' g); empty where variances differ.
    """

    test: str
    omnibus_p: float
    p_values: Mapping[str, float]
    differences: Mapping[str, Interval]
    effects: Mapping[str, Interval]


class Pair(NamedTuple):
    """Two rows, the better one first."""

    better: str
    worse: str


def compare(seeds: Seeds, baseline: str) -> Comparison:
    """Compare two rows or more, of three seeds or more, with one of them."""
    test, omnibus_p, tested = _omnibus(seeds)
    others = [name for name in seeds if name != baseline]
    if test == POOLED:
        differences = {name: pooled_t(seeds, name, baseline) for name in others}
        effects = {name: hedges_g(seeds, name, baseline) for name in others}
    else:
        differences, effects = {name: welch_t(seeds[name], seeds[baseline]) for name in others}, {}
    return Comparison(
        test=test,
        omnibus_p=omnibus_p,
        p_values={name: _p_value(tested, omnibus_p, name, baseline) for name in others},
        differences=differences,
        effects={name: effect for name, effect in effects.items() if effect is not None},
    )


def significant(comparisons: Iterable[Comparison]) -> set[str]:
    """Find the rows that differ significantly from their baselines, among all rows of one task."""
    return _discovered(
        {name: p for each in comparisons for name, p in each.p_values.items()},
        {name for each in comparisons if each.omnibus_p <= ALPHA for name in each.p_values},
    )


def significant_pairs(seeds: Seeds) -> set[Pair]:
    """Find the pairs of rows that differ significantly, by the same tests, at the same rate over all pairs."""
    _, omnibus_p, tested = _omnibus(seeds)
    mean = {name: statistics.fmean(values) for name, values in seeds.items()}
    pairs = [Pair(*sorted(pair, key=mean.__getitem__, reverse=True)) for pair in itertools.combinations(seeds, 2)]
    p_values = {pair: _p_value(tested, omnibus_p, *pair) for pair in pairs}
    return _discovered(p_values, set(pairs) if omnibus_p <= ALPHA else set())


def in_words(names: Sequence[str], *, of: int, tests: Sequence[str]) -> str:
    """Word how many of the compared rows are significant, and which: `2 of 5 by pooled t (full, nystrom)`."""
    return f"{len(names)} of {of} by {' and '.join(tests)}" + (f" ({', '.join(names)})" if names else "")


def _omnibus(seeds: Seeds) -> tuple[str, float, Seeds]:
    """Choose the tests; return their name, the omnibus p value, and what the t test is of: the values or ranks."""
    samples = list(seeds.values())
    if variances_agree(samples, ALPHA):
        return POOLED, one_way_anova(samples), seeds
    return RANKS, kruskal_wallis(samples), dict(zip(seeds, map(list, ranks(samples)), strict=True))


def _p_value(tested: Seeds, omnibus_p: float, first: str, second: str) -> float:
    """Two rows alone have one test: the omnibus one, which is exact for ranks."""
    p = omnibus_p if len(tested) == 2 else pooled_t(tested, first, second).p
    assert p is not None
    return p


def _discovered(p_values: Mapping[Name, float], passed: set[Name]) -> set[Name]:
    """Find what is significant at the false discovery rate; what has not `passed` the omnibus test counts as p = 1."""
    found = discoveries([p if name in passed else 1.0 for name, p in p_values.items()], ALPHA)
    return {name for name, yes in zip(p_values, found, strict=True) if yes}
