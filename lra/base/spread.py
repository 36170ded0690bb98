"""Spread of accuracies: over seeds, and by the chance of a test of finite size."""

import math
from collections.abc import Sequence

import numpy as np


def sample_std(values: Sequence[float]) -> float | None:
    """Compute the sample standard deviation (with n − 1); None for fewer than two values."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def binomial_error(accuracy: float, examples: int) -> float:
    """Compute the binomial standard error of an accuracy in [0, 1] over `examples` test examples."""
    return math.sqrt(accuracy * (1 - accuracy) / examples)
