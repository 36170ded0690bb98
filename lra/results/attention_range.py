"""How long the range of a task is, that is how wide local attention must be to gain what exact attention gains.

Most of the accuracy on these tasks may come from near positions (Miralles-González et al. 2025, arXiv 2501.14850).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SHARE = 0.95  # of the gain of exact attention over no mixing
ERRORS = 2.0  # standard errors that this gain must exceed
CONFIDENCE = 0.95
WHOLE = math.inf  # the width of exact attention: the sequence


@dataclass(frozen=True, kw_only=True)
class Range:
    """The narrowest width with `SHARE` of what exact attention gains over `none`; `WHOLE` if no width that was tried.

    Attributes:
        width: None where the gain is no basis for it, and `why` says so.
        low, high: its confidence interval.
        gain, error: of exact attention over `none`, and its standard error, in points; None with too few seeds.
    """

    width: float | None = None
    low: float | None = None
    high: float | None = None
    gain: float | None = None
    error: float | None = None
    why: str = ""

    def __str__(self) -> str:
        """Word it: `16 [4, exact]; …`, or `–` and why."""
        if self.width is None:
            return f"– ({self.why})"
        shown, low, high = map(width_name, (self.width, self.low, self.high))
        return f"{shown} [{low}, {high}]; exact attention gains {self.gain:.2f} ± {self.error:.2f} points over none"


def width_name(width: float | None) -> str:
    """Write a width; `exact` stands for that of exact attention, nothing for none."""
    return "" if width is None else "exact" if width == WHOLE else f"{width:.0f}"


def attention_range(none: Sequence[float], exact: Sequence[float], widths: Mapping[int, Sequence[float]]) -> Range:
    """Compute the range from the accuracies of each seed, in percent: of `none`, of exact attention, by width.

    A width is in the interval unless Welch's t test says, two-sided, that it and all narrower ones have less than
    `SHARE` of the gain, or that some narrower one and all wider than that have more. So the interval covers the
    narrowest width with this share, whether or not accuracy grows with the width.
    """
    few = next((name for name, seeds in (("none", none), ("exact attention", exact)) if len(seeds) < 2), None)
    if few:
        return Range(why=f"it needs two seeds or more of one variant of {few} with the same other settings")
    gain, error, _ = _contrast([(1, exact), (-1, none)])
    if gain <= ERRORS * error:
        why = f"exact attention gains {gain:.2f} ± {error:.2f} points over none: no more than two standard errors"
        return Range(gain=gain, error=error, why=why)
    above = {width: _contrast([(1, seeds), (SHARE - 1, none), (-SHARE, exact)]) for width, seeds in widths.items()}
    doubtful = max((width for width, (value, _, half) in above.items() if value < half), default=0)
    return Range(
        width=min((width for width, (value, _, _) in above.items() if value >= 0), default=WHOLE),
        low=min((width for width, (value, _, half) in above.items() if value >= -half), default=WHOLE),
        high=min((width for width in above if width > doubtful), default=WHOLE),
        gain=gain,
        error=error,
    )


def _contrast(weighted: Sequence[tuple[float, Sequence[float]]]) -> tuple[float, float, float]:
    """Compute a weighted sum of means, its standard error, and half its confidence interval (Welch 1947).

    With one seed in a group both are infinite.
    """
    from scipy.special import stdtrit  # not scipy.stats, whose import takes longer than a whole table

    value = sum(weight * statistics.fmean(seeds) for weight, seeds in weighted)
    if any(len(seeds) < 2 for _, seeds in weighted):
        return value, math.inf, math.inf
    parts = [(weight**2 * float(np.var(seeds, ddof=1)) / len(seeds), len(seeds) - 1) for weight, seeds in weighted]
    variance = sum(part for part, _ in parts)
    if not variance:
        return value, 0.0, 0.0
    freedom = variance**2 / sum(part**2 / of_part for part, of_part in parts)
    error = math.sqrt(variance)
    return value, error, error * float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
