"""The margin of a difference between two rows, and how many margins rows without a difference lie apart by chance.

The margin is half the width of a 95 % interval: the wider one of Welch's t, of the two rows alone, and of Student's t
with the mean variance of all rows. Neither alone does: Welch's degrees of freedom are so few with three seeds that of
many rows hardly any difference is larger than it must be, and the mean variance is too small for a row that spreads
more. In the mean each row counts with at most five times the standard deviation of the median row, so that one row of
which a seed converged late does not hide the differences between all others. That this margin serves few rows and many
was found by simulation, not derived; so is the number of margins that a difference must exceed, the critical value.

Letters: R rows, D draws.
"""

import functools
import itertools
from collections.abc import Collection, Sequence

import numpy as np
import scipy

from lra.tables.statistics.estimators import TAIL

ALPHA = 0.05  # the probability that any of the compared rows is called different by chance
SPREAD_RATIO = 5.0  # between standard deviations: up to it the critical value is made, and a row counts in the mean
DRAWN_MEANS = 200_000  # of all rows together: of few rows there are more draws
LEAST_P = 1e-4
STEPS = 2048  # of the table of quantiles, over 1 / degrees of freedom
TINY = float(np.finfo(np.float32).tiny)
Pairs = tuple[tuple[int, int], ...]  # places of rows


class Margins:
    """The margins of the differences between the means of rows.

    Args:
        variances_RD: the sample variance of each row's seeds, with n − 1.
        counts: number of seeds of each row.
    """

    def __init__(self, variances_RD: np.ndarray, counts: Sequence[int]):
        self._counts = counts
        freedoms_R1 = np.array(counts, variances_RD.dtype)[:, None] - 1
        self._squared_errors_RD = variances_RD / (freedoms_R1 + 1)
        self._welch_RD = self._squared_errors_RD**2 / freedoms_R1
        self._quantiles = _squared_quantiles().astype(variances_RD.dtype)
        freedom = float(freedoms_R1.sum())
        ordered_RD = np.sort(variances_RD, axis=0)  # much faster than np.median
        median_D = (ordered_RD[(len(counts) - 1) // 2] + ordered_RD[len(counts) // 2]) / 2
        most_D = np.where(median_D > 0, SPREAD_RATIO**2 * median_D, np.inf)
        pooled_D = (freedoms_R1 * np.minimum(variances_RD, most_D)).sum(0) / freedom
        self._pooled_D = pooled_D * self._quantiles[round(STEPS / freedom)]

    def between(self, first: int, second: int) -> np.ndarray:
        """The margin of two rows' difference in each draw, `[D]`; 0 if no row has any spread."""
        margins_D: np.ndarray = np.sqrt(self.squared_between(first, second))
        return margins_D

    def squared_between(self, first: int, second: int) -> np.ndarray:
        """The square of that margin: of many draws the root takes its time."""
        squared_error_D = self._squared_errors_RD[first] + self._squared_errors_RD[second]
        spread_D = self._welch_RD[first] + self._welch_RD[second]
        inverse_freedom_D = spread_D / np.maximum(squared_error_D**2, TINY)  # Welch 1947
        welch_D = squared_error_D * self._quantiles[(STEPS * inverse_freedom_D + 0.5).astype(np.int32)]
        pooled_D = self._pooled_D * (1 / self._counts[first] + 1 / self._counts[second])
        squared_D: np.ndarray = np.maximum(welch_D, pooled_D)
        return squared_D


@functools.cache
def _squared_quantiles() -> np.ndarray:
    """Squares of Student's t, two-sided at 95 %, by 1 / degrees of freedom, from 0 in steps of 1 / `STEPS`."""
    of_t = scipy.special.stdtrit(STEPS / np.arange(1, STEPS + 1), 1 - TAIL)
    return np.concatenate([[scipy.special.ndtri(1 - TAIL)], of_t]) ** 2


def with_first(rows: int) -> Pairs:
    """Each other row with the first one, the baseline."""
    return tuple((row, 0) for row in range(1, rows))


def all_pairs(rows: int) -> Pairs:
    """Each row with each other one."""
    return tuple(itertools.combinations(range(rows), 2))


def largest_ratios(means_RD: np.ndarray, margins: Margins, pairs: Pairs) -> np.ndarray:
    """The largest ratio of a difference to its margin among pairs of rows, in each draw, `[D]`."""
    largest_D = np.zeros(means_RD.shape[1], means_RD.dtype)
    for first, second in pairs:
        squared_D = (means_RD[first] - means_RD[second]) ** 2 / margins.squared_between(first, second)
        np.maximum(largest_D, squared_D, out=largest_D)
    return np.sqrt(largest_D)


def critical_value(counts: Sequence[int], *, has_baseline: bool, drawn_means: int = DRAWN_MEANS) -> float:
    """How many margins a difference must exceed, so that any one does by chance with a probability of `ALPHA`.

    Compared are all rows with the first one, which is the baseline, or without a baseline all pairs of rows.
    """
    chance_D = _chance_ratios(_in_order(counts, has_baseline), has_baseline, drawn_means)
    return float(chance_D[-int(ALPHA * (len(chance_D) + 1))])


def p_value(ratio: float, counts: Sequence[int], *, has_baseline: bool) -> float:
    """The probability that by chance any difference is at least so many margins; `LEAST_P` for that and less."""
    chance_D = _chance_ratios(_in_order(counts, has_baseline), has_baseline, DRAWN_MEANS)
    as_large = len(chance_D) - int(np.searchsorted(chance_D, ratio))
    return max(LEAST_P, (1 + as_large) / (1 + len(chance_D)))


def _in_order(counts: Sequence[int], has_baseline: bool) -> tuple[int, ...]:
    """The counts in an order of their own, so that tables that list the same rows in any order have equal numbers."""
    first = int(has_baseline)
    return (*counts[:first], *sorted(counts[first:]))


@functools.lru_cache(maxsize=256)
def _chance_ratios(counts: tuple[int, ...], has_baseline: bool, drawn_means: int) -> np.ndarray:
    """The largest ratios among rows of equal means, in ascending order, `[D]`.

    Each is that of the least favourable of `_patterns`. Means are normal, and variances scaled chi-squared. All is in
    float32, which takes two thirds of the time.
    """
    pairs = with_first(len(counts)) if has_baseline else all_pairs(len(counts))
    draws = drawn_means // len(counts)
    rng, counts_R1 = np.random.default_rng(0), np.array(counts)[:, None]
    means_RD = (rng.standard_normal((len(counts), draws)) / np.sqrt(counts_R1)).astype(np.float32)
    shapes_RD = np.broadcast_to((counts_R1 - 1) / 2, means_RD.shape)
    variances_RD = (rng.standard_gamma(shapes_RD) * 2 / (counts_R1 - 1)).astype(np.float32)
    largest_D = np.zeros(draws, np.float32)
    for stds in _patterns(counts, has_baseline):
        stds_R1 = np.array(stds, np.float32)[:, None]
        margins = Margins(stds_R1**2 * variances_RD, counts)
        np.maximum(largest_D, np.sort(largest_ratios(stds_R1 * means_RD, margins, pairs)), out=largest_D)
    return largest_D


def _patterns(counts: Sequence[int], has_baseline: bool) -> Collection[tuple[float, ...]]:
    """Standard deviations of the rows: equal ones, and some of them `SPREAD_RATIO` times as large as the others.

    These are first the rows with the fewest seeds, then those with most. The baseline has either spread, and one
    between the two where it alone differs.
    """
    others = list(range(int(has_baseline), len(counts)))  # by their number of seeds
    orders = [others, others[::-1]] if len(set(counts)) > 1 else [others]
    numbers = sorted({0, 1, len(others) // 3, 2 * len(others) // 3, len(others) - int(not has_baseline)})
    choices = [*itertools.product(orders, numbers, (1.0, SPREAD_RATIO)), (others, 0, (1 + SPREAD_RATIO) / 2)]
    patterns: dict[tuple[float, ...], None] = {}  # a set in order
    for order, number, baseline in choices:
        stds = [1.0] * len(counts)
        for row in order[:number]:
            stds[row] = SPREAD_RATIO
        if has_baseline:
            stds[0] = baseline
        patterns[tuple(std / min(stds) for std in stds)] = None
    return patterns
