"""Statistics for tables and comparisons: spread over seeds, noise of a test, paired differences, tests by rank.

The numbers are those of `scipy.stats`, whose import takes longer than a whole table; tests compare both."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

WIDTHS = 40.0  # standard deviations on each side of its mean within which a distribution is computed
LEAST_SEEDS_FOR_T = 3
MOST_FOR_EXACT = 33  # values without ties for which the distribution of Kendall's correlation is counted exactly


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A difference, in the unit of the compared values, with its confidence interval.

    `p` is the two-sided p value of the difference, in [0, 1]; None for a bootstrap.
    """

    difference: float
    low: float
    high: float
    p: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the interval does not contain 0."""
        return not self.low <= 0 <= self.high


def sample_std(values: Sequence[float]) -> float | None:
    """Compute the sample standard deviation (with n − 1); None for fewer than two values."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def binomial_error(accuracy: float, examples: int) -> float:
    """Compute the binomial standard error of an accuracy in [0, 1] over `examples` test examples."""
    return math.sqrt(accuracy * (1 - accuracy) / examples)


def errors_above_majority(accuracy: float, majority_rate: float, examples: int) -> float:
    """Compute by how many standard errors an accuracy is above that of the majority class; negative: below it.

    The standard error is that of a test of `examples` examples by a model that guesses the majority class. Accuracies
    are fractions in [0, 1].
    """
    gain, error = accuracy - majority_rate, binomial_error(majority_rate, examples)
    return gain / error if error else math.copysign(math.inf, gain) if gain else 0.0


def converged(accuracy: float, majority_rate: float, examples: int, *, least: float = 0.0) -> bool:
    """Tell whether an accuracy is at least `least`, and more than three standard errors above the majority class's."""
    return accuracy >= least and errors_above_majority(accuracy, majority_rate, examples) > 3


def variances_agree(groups: Sequence[Sequence[float]], alpha: float = 0.05) -> bool:
    """Tell whether Bartlett's test lets groups of two values or more pass for ones of equal variance.

    Bartlett's and not Brown and Forsythe's: that one's deviations from medians have hardly any power with three values.
    """
    spreads = [float(np.var(values, ddof=1)) for values in groups]
    if min(spreads) <= float(np.finfo(float).tiny):  # the test takes logarithms
        return max(spreads) <= float(np.finfo(float).tiny)
    return bartlett(groups) > alpha


def bartlett(groups: Sequence[Sequence[float]]) -> float:
    """Compute the p value of Bartlett's test (1937) of equal variances, none of which may be 0."""
    from scipy.special import chdtrc  # not scipy.stats, whose import takes longer than a whole table

    freedoms = np.array([len(values) - 1 for values in groups])
    spreads, freedom = np.array([np.var(values, ddof=1) for values in groups]), freedoms.sum()
    statistic = freedom * np.log(freedoms @ spreads / freedom) - freedoms @ np.log(spreads)
    correction = 1 + ((1 / freedoms).sum() - 1 / freedom) / (3 * (len(groups) - 1))
    return float(chdtrc(len(groups) - 1, statistic / correction))


def pooled_t(groups: Mapping[str, Sequence[float]], first: str, second: str) -> float:
    """Compute the two-sided p value of a t test of two groups' means, with the variance of all groups together.

    Of ranks among all groups it is the test of Conover and Iman (1979).
    """
    from scipy.special import stdtr  # see bartlett

    freedom = sum(len(values) - 1 for values in groups.values())
    variance = sum((len(values) - 1) * float(np.var(values, ddof=1)) for values in groups.values()) / freedom
    difference = float(np.mean(groups[first]) - np.mean(groups[second]))
    error = math.sqrt(variance * (1 / len(groups[first]) + 1 / len(groups[second])))
    return float(2 * stdtr(freedom, -abs(difference) / error)) if error else float(difference == 0)


def paired_t(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """Compute the mean of `first − second`, paired by position (by seed), with Student's t interval and p value."""
    from scipy import special  # see bartlett

    assert len(first) == len(second) >= LEAST_SEEDS_FOR_T
    differences = np.subtract(first, second)
    mean = float(differences.mean())
    error, freedom = float(differences.std(ddof=1) / math.sqrt(len(differences))), len(differences) - 1
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    p = float(2 * special.stdtr(freedom, -abs(mean) / error)) if error else float(mean == 0)
    return Interval(difference=mean, low=mean - half, high=mean + half, p=p)


def discoveries(p_values: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Tell which of several differences are significant at a false discovery rate of `rate`.

    At most this share of the chosen differences is expected to be due to chance (Benjamini and Hochberg 1995).
    """
    count, ordered = len(p_values), sorted(p_values)
    enough = (p for place, p in enumerate(ordered, start=1) if p * count / place <= rate)
    most = max(enough, default=-1.0)  # it and all below it
    return [p <= most for p in p_values]


def paired_bootstrap(first: Sequence[np.ndarray], second: Sequence[np.ndarray], confidence: float = 0.95) -> Interval:
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
    tail = (1 - confidence) / 2
    low, high = np.searchsorted(cumulative, [tail, 1 - tail]) - size // 2 + middle
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
