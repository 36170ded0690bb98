"""The statistics of the comparison: spread over seeds, noise of a test, paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BOOTSTRAP_RESAMPLES = 2000
LEAST_SEEDS_FOR_T = 3


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A difference with the interval that holds the true one with the given confidence.

    Attributes:
        difference: in the unit of the values that were compared.
        low, high: ends of the interval.
    """

    difference: float
    low: float
    high: float

    @property
    def within_noise(self) -> bool:
        """Whether no difference at all is in the interval."""
        return self.low <= 0 <= self.high


def sample_std(values: Sequence[float]) -> float | None:
    """Standard deviation with n − 1; None for fewer than two values."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def binomial_error(accuracy: float, examples: int) -> float:
    """Binomial standard error of an accuracy in [0, 1] over so many test examples."""
    return math.sqrt(accuracy * (1 - accuracy) / examples)


def converged(accuracy: float, majority_rate: float, examples: int) -> bool:
    """Whether an accuracy is more than three standard errors above what the most frequent class gives."""
    return accuracy > majority_rate + 3 * binomial_error(majority_rate, examples)


def paired_t(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of `first − second`, paired by position (by seed), with Student's interval.

    Raises:
        AssertionError: for fewer than three pairs, of which an interval says nothing.
    """
    from scipy import stats  # a second to import, which most tables need not wait for

    assert len(first) == len(second) >= LEAST_SEEDS_FOR_T
    differences = np.subtract(first, second)
    mean = float(differences.mean())
    half = float(stats.t.ppf((1 + confidence) / 2, len(differences) - 1) * stats.sem(differences))
    return Interval(difference=mean, low=mean - half, high=mean + half)


def paired_bootstrap(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], confidence: float = 0.95, seed: int = 0
) -> Interval:
    """Mean accuracy of `first` minus that of `second`, resampling test examples; models are taken as they are.

    Args:
        first, second: for each seed, which of the same test examples were right, `[examples]` bool.
        confidence: of the interval, percentiles.
        seed: of the resampling.
    """
    from scipy import stats

    differences = np.mean(np.asarray(first, float), axis=0) - np.mean(np.asarray(second, float), axis=0)
    interval = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=BOOTSTRAP_RESAMPLES,
        batch=50,  # resamples held at once: 25,000 reviews would need 400 MB else
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(
        difference=float(differences.mean()),
        low=float(interval.low),
        high=float(interval.high),
    )
