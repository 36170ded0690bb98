"""The rule by which tables, comparisons and figures call a difference between methods significant.

Rows of one task, each with the values of its seeds, are compared with a baseline among them, or each with each. One
rule serves two rows and many, rows that spread alike and rows that do not: `lra/tables/statistics/margins.py` says why.
Seeds are not paired: their correlation is 0 to 0.2 in the published tables, and a positive one makes the rule cautious.
"""

import itertools
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lra.tables.statistics.estimators import Interval, hedges_g, variance
from lra.tables.statistics.margins import ALPHA, Margins, critical_value, p_value

RULE = (
    "The margin of a difference is half the width of a 95 % interval: the wider one of Welch's t and of Student's t"
    " with the mean variance of all rows. A difference is significant if it is larger than c margins. By chance any of"
    " the rows is as far away with a probability of 5 %: c is from a simulation, for standard deviations between seeds"
    " that differ up to five-fold."
)
Seeds = Mapping[str, Sequence[float]]  # the values of each row's seeds


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The rows of one task compared with one of them.

    Attributes:
        p_values: of each other row, two-sided, for all rows together: the probability that by chance any row is as many
            margins away from the baseline.
        differences: each other row's mean minus the baseline's, in the unit of the values, with a 95 % interval of
            these two rows alone.
        effects: the same differences in standard deviations between seeds (Hedges' g); empty where there is no spread.
    """

    p_values: Mapping[str, float]
    differences: Mapping[str, Interval]
    effects: Mapping[str, float]


class Pair(NamedTuple):
    """Two rows, the better one first."""

    better: str
    worse: str


def compare(seeds: Seeds, baseline: str) -> Comparison:
    """Compare two rows or more, of three seeds or more, with one of them."""
    names = [baseline, *(name for name in seeds if name != baseline)]
    measured = _Measured(seeds, names)
    p_values, differences = {}, {}
    for row, name in enumerate(names[1:], start=1):
        ratio = _ratio(measured.difference(row, 0), measured.margin(row, 0))
        p_values[name] = p_value(ratio, measured.counts, has_baseline=True)
        differences[name] = _interval_of_two(_Measured(seeds, [baseline, name]))
    effects = {name: hedges_g(seeds[name], seeds[baseline]) for name in names[1:]}
    return Comparison(
        p_values=p_values,
        differences=differences,
        effects={name: effect for name, effect in effects.items() if effect is not None},
    )


def significant(comparisons: Collection[Comparison]) -> set[str]:
    """Find the rows that differ significantly from their baselines, among all rows of one task.

    Several comparisons, each with a baseline of its own, share the probability of an error.
    """
    return {name for each in comparisons for name, p in each.p_values.items() if p <= ALPHA / len(comparisons)}


def significant_pairs(seeds: Seeds) -> set[Pair]:
    """Find the pairs of rows that differ significantly, by the same rule for all pairs together."""
    names = list(seeds)
    if len(names) < 2:
        return set()
    measured = _Measured(seeds, names)
    critical, pairs = critical_value(measured.counts, has_baseline=False), set()
    for first, second in itertools.combinations(range(len(names)), 2):
        difference = measured.difference(first, second)
        if _ratio(difference, measured.margin(first, second)) > critical:
            better, worse = (first, second) if difference > 0 else (second, first)
            pairs.add(Pair(names[better], names[worse]))
    return pairs


def in_words(names: Sequence[str], *, of: int) -> str:
    """Word how many of the compared rows are significant, and which: `2 of 5 (full, nystrom)`."""
    return f"{len(names)} of {of}" + (f" ({', '.join(names)})" if names else "")


class _Measured:
    """The means of rows in their order, and the margins of their differences."""

    def __init__(self, seeds: Seeds, names: Sequence[str]):
        self.counts = [len(seeds[name]) for name in names]
        self._means = [statistics.mean(seeds[name]) for name in names]
        variances = [variance(seeds[name]) for name in names]
        self._margins = Margins(np.array(variances)[:, None], self.counts)

    def difference(self, first: int, second: int) -> float:
        return float(self._means[first] - self._means[second])

    def margin(self, first: int, second: int) -> float:
        return float(self._margins.between(first, second)[0])


def _interval_of_two(measured: _Measured) -> Interval:
    """The difference of the second of two rows from the first, with all that the rule does not tell from it."""
    difference = measured.difference(1, 0)
    half = measured.margin(1, 0) * critical_value(measured.counts, has_baseline=True)
    return Interval(difference=difference, low=difference - half, high=difference + half)


def _ratio(difference: float, margin: float) -> float:
    """The difference in margins; without any spread between seeds each difference is certain."""
    if margin:
        return abs(difference) / margin
    return math.inf if difference else 0.0
