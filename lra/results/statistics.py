"""Statistics for tables and comparisons: standard deviation over seeds, noise of a test, paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BOOTSTRAP_RESAMPLES = 10_000
LEAST_SEEDS_FOR_T = 3


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A difference with its confidence interval.

    Attributes:
        difference: the estimated difference, in the unit of the compared values.
        low, high: the ends of the interval.
        p: p value of the difference, two-sided, in [0, 1]; None for a bootstrap.
    """

    difference: float
    low: float
    high: float
    p: float | None = None

    @property
    def within_noise(self) -> bool:
        """Whether the interval contains 0."""
        return self.low <= 0 <= self.high


def sample_std(values: Sequence[float]) -> float | None:
    """Compute the sample standard deviation (with n − 1); None for fewer than two values."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def binomial_error(accuracy: float, examples: int) -> float:
    """Compute the binomial standard error of an accuracy in [0, 1] over `examples` test examples."""
    return math.sqrt(accuracy * (1 - accuracy) / examples)


def converged(accuracy: float, majority_rate: float, examples: int, *, least: float = 0.0) -> bool:
    """Tell whether an accuracy is at least `least`, and more than three standard errors above the majority class's."""
    return accuracy >= least and accuracy > majority_rate + 3 * binomial_error(majority_rate, examples)


def paired_t(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """Compute the mean of `first − second`, paired by position (by seed), with Student's t interval and p value.

    Raises:
        AssertionError: for fewer than three pairs, which are too few for a useful interval.
    """
    from scipy import special  # not scipy.stats, whose import takes longer than a whole table

    assert len(first) == len(second) >= LEAST_SEEDS_FOR_T
    differences = np.subtract(first, second)
    mean = float(differences.mean())
    error, freedom = float(differences.std(ddof=1) / math.sqrt(len(differences))), len(differences) - 1
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    p = float(2 * special.stdtr(freedom, -abs(mean) / error)) if error else float(mean == 0)
    return Interval(difference=mean, low=mean - half, high=mean + half, p=p)


def discoveries(p_values: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Tell which of several differences stay beyond noise when the false discovery rate is `rate`.

    At most this share of the chosen differences is expected to be due to chance (Benjamini and Hochberg 1995).
    """
    count, ordered = len(p_values), sorted(p_values)
    enough = (p for place, p in enumerate(ordered, start=1) if p * count / place <= rate)
    most = max(enough, default=-1.0)  # it and all below it
    return [p <= most for p in p_values]


def paired_bootstrap(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], confidence: float = 0.95, seed: int = 0
) -> Interval:
    """Compute the difference of two mean accuracies, with a bootstrap interval over test examples.

    The interval is for these trained models: seeds are not resampled.

    Args:
        first, second: for each seed, whether each test example was predicted right, `[examples]` bool. Both have the
            same test examples.
        confidence: confidence level of the percentile interval.
        seed: seed of the resampling.
    """
    differences = np.mean(np.asarray(first, float), axis=0) - np.mean(np.asarray(second, float), axis=0)
    examples = len(differences)
    # A resample is known by how often it has each value. There are few values, and their counts are multinomial.
    values, counts = np.unique(differences, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(examples, counts / examples, size=BOOTSTRAP_RESAMPLES)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn @ values / examples, [tail, 1 - tail])
    return Interval(difference=float(differences.mean()), low=float(low), high=float(high))
