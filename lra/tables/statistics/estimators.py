"""Statistics for tables and comparisons: spread over seeds, noise of a test, differences of means, rank correlation.

The numbers are those of `scipy.stats`, whose import takes longer than a whole table; tests compare both. That of
`scipy.special` takes a while too: `scipy` imports it when it is first used."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

WIDTHS = 40.0  # standard deviations on each side of its mean within which a distribution is computed
LEAST_SEEDS_FOR_T = 3
CONFIDENCE = 0.95  # of intervals
TAIL = (1 - CONFIDENCE) / 2  # beyond each end of an interval
MOST_FOR_EXACT = 33  # values without ties for which the distribution of Kendall's correlation is counted exactly


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A difference, in the unit of the compared values, with its confidence interval."""

    difference: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval does not contain 0."""
        return not self.low <= 0 <= self.high


def variance(values: Sequence[float]) -> float:
    """Compute the sample variance (with n − 1); exact: 0 if all agree."""
    return float(np.var(values, ddof=1)) if len({*values}) > 1 else 0.0


def pooled_variance(groups: Collection[Sequence[float]]) -> tuple[float, int]:
    """Compute the variance within groups, of all groups together, and its degrees of freedom; exact: 0 if all agree."""
    freedom = sum(len(values) - 1 for values in groups)
    return sum((len(values) - 1) * variance(values) for values in groups) / freedom, freedom


def welch(weighted: Collection[tuple[float, Sequence[float]]]) -> tuple[float, float, float]:
    """Compute a weighted sum of means, its standard error and the degrees of freedom of Student's t (Welch 1947).

    With one value in a sample the error is infinite.
    """
    value = sum(weight * float(np.mean(values)) for weight, values in weighted)
    if any(len(values) < 2 for _, values in weighted):
        return value, math.inf, 1.0
    parts = [(weight**2 * float(np.var(values, ddof=1)) / len(values), len(values) - 1) for weight, values in weighted]
    variance, spread = sum(part for part, _ in parts), sum(part**2 / of_part for part, of_part in parts)
    return value, math.sqrt(variance), variance**2 / spread if spread else 1.0


def student(difference: float, error: float, freedom: float) -> Interval:
    """Compute the interval of a difference, with Student's t."""
    half = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return Interval(difference=difference, low=difference - half, high=difference + half)


def hedges_g(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Compute the difference of two means in standard deviations: the root of both variances' mean, weighted by n − 1.

    Without the bias that it has where both variances are equal (Hedges 1981). None without variance.
    """
    mean_variance, freedom = pooled_variance([first, second])
    if not mean_variance:
        return None
    apart = float(np.mean(first) - np.mean(second)) / math.sqrt(mean_variance)
    return (1 - 3 / (4 * freedom - 1)) * apart


def paired_bootstrap(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> Interval:
    """Compute the difference of two mean accuracies, with a percentile interval by bootstrap over test examples.

    The interval is for these trained models: seeds are not resampled. It is that of the exact bootstrap distribution,
    without noise of resampling: in units of 1/lcm(seeds of first, seeds of second) the difference of an example is a
    whole number, and the sum over n resampled examples has the n-th power of its characteristic function.

    Both sides have for each seed whether each of the same test examples was predicted right, `[examples]` bool.
    """
    unit = math.lcm(len(first), len(second))
    right, others_right = np.asarray(first, np.int64).sum(0), np.asarray(second, np.int64).sum(0)
    differences = right * (unit // len(first)) - others_right * (unit // len(second))
    examples, middle = len(differences), round(float(differences.sum()))
    reach = min(math.ceil(WIDTHS * math.sqrt(examples) * differences.std()), 2 * unit * examples) + 1
    size = 2 ** math.ceil(math.log2(2 * reach))  # of a circle that the distribution does not go around
    one = np.bincount(differences % size, minlength=size) / examples
    of_sum = np.fft.irfft(np.fft.rfft(one) ** examples, size)
    cumulative = np.cumsum(np.roll(of_sum, size // 2 - middle % size))  # from middle − size/2 on
    low, high = np.searchsorted(cumulative, [TAIL, 1 - TAIL]) - size // 2 + middle
    scale = unit * examples
    return Interval(difference=middle / scale, low=float(low / scale), high=float(high / scale))


def kendall_taus(rows: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """Kendall's rank correlation (tau-b) of each row of `[R, n]` with n values; NaN where those of a side are equal."""
    first, second = np.triu_indices(len(values), 1)
    signs = np.sign(rows[:, first] - rows[:, second])
    value_signs = np.sign(np.subtract.outer(values, values)[first, second])
    untied = np.sqrt(np.count_nonzero(signs, axis=1)) * math.sqrt(np.count_nonzero(value_signs))
    with np.errstate(invalid="ignore"):
        taus: np.ndarray = np.clip(signs @ value_signs / untied, -1, 1)
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
    pair_ties = [(t * (t - 1) / 2).sum() for t in ties]
    triples = [(t * (t - 1) * (t - 2)).sum() for t in ties]
    spread = sum((t * (t - 1) * (2 * t + 5)).sum() for t in ties)
    whole = count * (count - 1.0)
    variance = (whole * (2 * count + 5) - spread) / 18 + 2 * pair_ties[0] * pair_ties[1] / whole
    variance += triples[0] * triples[1] / (9 * whole * (count - 2)) if count > 2 else 0
    difference = tau * math.sqrt((pairs - pair_ties[0]) * (pairs - pair_ties[1]))
    return tau, math.erfc(abs(difference) / math.sqrt(2 * variance))


def _exact_p(count: int, discordant: int) -> float:
    """Two-sided probability of at most so many discordant pairs, or concordant ones, in a random order."""
    orders = [1]  # by the number of discordant pairs, of 1, 2, … values: the new value has 0 to n − 1 of them
    for size in range(2, count + 1):
        wider = [*orders, *[0] * (size - 1)]
        orders = [sum(wider[max(0, pairs - size + 1) : pairs + 1]) for pairs in range(len(wider))]
    return min(1.0, 2 * sum(orders[: discordant + 1]) / math.factorial(count))
