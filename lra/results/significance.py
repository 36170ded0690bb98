"""The rule by which tables, comparisons and figures call a difference between methods significant, and its power.

Rows of one task, each with the values of its seeds, are compared with a baseline among them: one omnibus test of all
rows, then each row against the baseline. Seeds are not paired: their correlation is 0 to 0.2 in the published
tables, and a positive one makes these tests cautious.
"""

import itertools
import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import scipy

from lra.results.cells import make_cell
from lra.results.statistics import (
    LEAST_SEEDS_FOR_T,
    TAIL,
    Interval,
    discoveries,
    hedges_g,
    kruskal_wallis,
    one_way_anova,
    pooled_t,
    pooled_variance,
    ranks,
    variances_agree,
    welch_t,
)
from lra.results.variants import group_by_variant
from lra.runs.schema import Record

ALPHA = 0.05  # of the omnibus test, and the false discovery rate
RANKS, POOLED = "ranks", "pooled t"
OMNIBUS = {RANKS: "Kruskal–Wallis", POOLED: "one-way ANOVA"}
TESTS = (
    "Two-sided, at a false discovery rate of 5 % in each task (Benjamini–Hochberg), if the omnibus test has p ≤ 0.05."
    " pooled t: one-way ANOVA, then a t test with the variance of all rows together, where Bartlett's test does not"
    " reject equal variances (p above 0.05); ranks: Kruskal–Wallis, then the same t test of the ranks (Conover–Iman),"
    " where it does."
)
POINTS = 1.0  # the difference to find
POWER = 0.8  # the probability to find it that is enough
DRAWS = 20_000
MOST_SEEDS = 10_000
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


def std_between_seeds(rows: Sequence[Sequence[float]]) -> tuple[float, float, float] | None:
    """Pool the standard deviation of rows of several values: itself, and its 95 % interval; None without a spread."""
    several = [row for row in rows if len(row) > 1]
    variance, freedom = pooled_variance(several) if several else (0.0, 0)
    if not variance:
        return None
    low, high = np.sqrt(variance * freedom / scipy.special.chdtri(freedom, [TAIL, 1 - TAIL]))
    return math.sqrt(variance), float(low), float(high)


def power(difference: float, seeds: int, rows: int) -> float:
    """Compute how probably the difference of one row from the baseline is significant, if it alone differs.

    The tests are the omnibus F test and the pooled t tests at a false discovery rate, of `rows` rows of `seeds` normal
    values, drawn `DRAWS` times; `difference` is in standard deviations between seeds.
    """
    rng, freedom, others = np.random.default_rng(0), rows * (seeds - 1), rows - 1
    means = rng.standard_normal((DRAWS, rows)) / math.sqrt(seeds)
    means[:, 1] += difference
    variance = scipy.special.chdtri(freedom, rng.random(DRAWS)) / freedom
    least_ratio = scipy.special.fdtri(others, freedom, 1 - ALPHA)
    differs = seeds * means.var(axis=1, ddof=1) / variance >= least_ratio
    t = np.abs(means[:, 1:] - means[:, :1]) / np.sqrt(2 * variance / seeds)[:, None]
    chances = 1 - ALPHA * np.arange(1, others + 1) / others / 2
    enough = scipy.special.stdtrit(freedom, chances)  # of the first, second, … in order
    ordered = -np.sort(-t, axis=1)
    least = np.where(ordered >= enough, ordered, np.inf).min(axis=1)
    return float((differs & (t[:, 0] >= least)).mean())


def seeds_needed(difference: float, rows: int) -> int | None:
    """Find the number of seeds of each row from which on `power` is at least 80 %; None above `MOST_SEEDS`."""
    low, high = LEAST_SEEDS_FOR_T - 1, LEAST_SEEDS_FOR_T
    while power(difference, high, rows) < POWER:
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(difference, middle, rows) >= POWER else (middle, high)
    return high


def seeds_note(task: str, records: Sequence[Record], hashes: Collection[str], *, rows: int, seeds: int) -> str:
    """Word how many seeds a difference of one point would need, of `rows` rows with `seeds` planned seeds each.

    The spread is that of the task's records with these hashes of settings, or of all if there are none; rows of which
    only some seeds converged are left out.
    """
    sources = {
        "equal settings": [record for record in records if record["provenance"]["config_hash"] in hashes],
        "other settings of this task, protocol and size": records,
    }
    for of, chosen in sources.items():
        cells = [make_cell(members, "paper") for members in group_by_variant(chosen).values()]
        stds = std_between_seeds([cell.accuracies for cell in cells if not cell.partly_converged])
        if stds is not None:
            return f"{task}: {_needed(*stds, rows, seeds)}, of {of} on record."
    return f"{task}: seeds needed are unknown, because no record below the folder of runs has a second seed."


def _needed(std: float, low: float, high: float, rows: int, seeds: int) -> str:
    counts = [seeds_needed(POINTS / each, rows) for each in (std, low, high)]
    best, least, most = (f"more than {MOST_SEEDS:,}" if count is None else f"{count:,}" for count in counts)
    now = f"{100 * power(POINTS / std, seeds, rows):.0f} %" if seeds >= LEAST_SEEDS_FOR_T else "not tested"
    return (
        f"a difference of {POINTS:g} point from the baseline, of one row alone, is significant with a probability of"
        f" {100 * POWER:.0f} % from {best} seeds on [{least}, {most}]; with {seeds} seeds: {now}. Standard deviation"
        f" between seeds: {std:.2f} points [{low:.2f}, {high:.2f}]"
    )
