"""Tests by rank: Kendall's correlation, and Kruskal and Wallis' comparison of several samples.

The numbers are those of `scipy.stats`, whose import takes longer than a whole table; a test compares both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

MOST_FOR_EXACT = 33  # values without ties for which the distribution of Kendall's correlation is counted exactly


def kendall_taus(rows: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """Kendall's rank correlation (tau-b) of each row with some values; NaN where all values of a side are equal.

    Args:
        rows: `[R, n]`.
        values: n values.
    """
    first, second = np.triu_indices(len(values), 1)
    mine, theirs = np.sign(rows[:, first] - rows[:, second]), np.sign(np.subtract.outer(values, values)[first, second])
    untied = np.sqrt(np.count_nonzero(mine, axis=1)) * math.sqrt(np.count_nonzero(theirs))
    with np.errstate(invalid="ignore"):
        taus: np.ndarray = np.clip(mine @ theirs / untied, -1, 1)
    return taus


def kendall(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Kendall's rank correlation of two samples, and the two-sided p value of independence.

    The p value is exact without ties, for at most `MOST_FOR_EXACT` values; else it is that of a normal distribution.
    """
    count = len(first)
    tau = float(kendall_taus(np.asarray([first]), second)[0])
    ties = [np.unique(values, return_counts=True)[1].astype(float) for values in (first, second)]
    pairs = count * (count - 1) // 2
    if all(len(counts) == count for counts in ties) and count <= MOST_FOR_EXACT:
        return tau, _exact_p(count, round(pairs * (1 - abs(tau)) / 2))
    # The variance of concordant minus discordant pairs with ties: Kendall 1970, Rank Correlation Methods, chapter 4.
    pair_ties, third, spread = zip(
        *(((t * (t - 1) / 2).sum(), (t * (t - 1) * (t - 2)).sum(), (t * (t - 1) * (2 * t + 5)).sum()) for t in ties),
        strict=True,
    )
    whole = count * (count - 1.0)
    variance = (whole * (2 * count + 5) - sum(spread)) / 18 + 2 * pair_ties[0] * pair_ties[1] / whole
    variance += third[0] * third[1] / (9 * whole * (count - 2)) if count > 2 else 0
    difference = tau * math.sqrt((pairs - pair_ties[0]) * (pairs - pair_ties[1]))
    return tau, math.erfc(abs(difference) / math.sqrt(2 * variance))


def _exact_p(count: int, discordant: int) -> float:
    """Two-sided probability of at most so many discordant pairs, or concordant ones, in a random order."""
    orders = [1]  # by the number of discordant pairs, of 1, 2, … values: the new value has 0 to n − 1 of them
    for size in range(2, count + 1):
        wider = [*orders, *[0] * (size - 1)]
        orders = [sum(wider[max(0, pairs - size + 1) : pairs + 1]) for pairs in range(len(wider))]
    return min(1.0, 2 * sum(orders[: discordant + 1]) / math.factorial(count))


def ranks(samples: Sequence[Sequence[float]]) -> list[np.ndarray]:
    """Replace each value by its rank among the values of all samples, from 1 on; ties have their mean rank."""
    values = np.concatenate([np.asarray(sample, float) for sample in samples])
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum([len(sample) for sample in samples])
    return np.split((np.cumsum(counts) - (counts - 1) / 2)[place], ends[:-1])


def kruskal_wallis(samples: Sequence[Sequence[float]]) -> float:
    """p value of samples from one distribution, by the sums of ranks (chi-squared).

    Not all values may be equal.
    """
    from scipy.special import chdtrc

    ranked = ranks(samples)
    total, counts = sum(map(len, ranked)), np.unique(np.concatenate(ranked), return_counts=True)[1]
    sums = [part.sum() ** 2 / len(part) for part in ranked]
    statistic = 12 / (total * (total + 1)) * sum(sums) - 3 * (total + 1)
    tied = 1 - (counts.astype(float) ** 3 - counts).sum() / (total**3 - total)
    return float(chdtrc(len(samples) - 1, statistic / tied))
