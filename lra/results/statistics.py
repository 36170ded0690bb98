"""Statistics for tables and comparisons: spread over seeds, noise of a test, differences of means, tests by rank.

The numbers are those of `scipy.stats`, whose import takes longer than a whole table; tests compare both. That of
`scipy.special` takes a while too: `scipy` imports it when it is first used."""

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
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
    freedoms = np.array([len(values) - 1 for values in groups])
    spreads, freedom = np.array([np.var(values, ddof=1) for values in groups]), freedoms.sum()
    statistic = freedom * np.log(freedoms @ spreads / freedom) - freedoms @ np.log(spreads)
    correction = 1 + ((1 / freedoms).sum() - 1 / freedom) / (3 * (len(groups) - 1))
    return float(scipy.special.chdtrc(len(groups) - 1, statistic / correction))


def one_way_anova(groups: Sequence[Sequence[float]]) -> float:
    """Compute the p value of equal means in groups of normal values with one variance, by the F test."""
    counts, means = [len(values) for values in groups], [statistics.mean(values) for values in groups]
    overall, (variance, freedom) = np.average(means, weights=counts), pooled_variance(groups)
    between = sum(count * (mean - overall) ** 2 for count, mean in zip(counts, means, strict=True)) / (len(groups) - 1)
    if not variance:
        return float(len({*means}) == 1)
    return float(scipy.special.fdtrc(len(groups) - 1, freedom, between / variance))


def pooled_variance(groups: Collection[Sequence[float]]) -> tuple[float, int]:
    """Compute the variance within groups, of all groups together, and its degrees of freedom; exact: 0 if all agree."""
    freedom = sum(len(values) - 1 for values in groups)
    unequal = (values for values in groups if len({*values}) > 1)
    return sum((len(values) - 1) * float(np.var(values, ddof=1)) for values in unequal) / freedom, freedom


def pooled_t(groups: Mapping[str, Sequence[float]], first: str, second: str) -> Interval:
    """Compute the difference of two groups' means with Student's t, and the variance of all groups together.

    Of ranks among all groups it is the test of Conover and Iman (1979).
    """
    variance, freedom = pooled_variance(groups.values())
    error = math.sqrt(variance * (1 / len(groups[first]) + 1 / len(groups[second])))
    return student(float(np.mean(groups[first]) - np.mean(groups[second])), error, freedom)


def welch_t(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Compute the difference of two samples' means with Welch's t, which assumes no equal variances."""
    return student(*welch([(1, first), (-1, second)]))


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
    """Compute the interval and the p value of a difference, with Student's t."""
    half = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    p = float(2 * scipy.special.stdtr(freedom, -abs(difference) / error)) if error else float(difference == 0)
    return Interval(difference=difference, low=difference - half, high=difference + half, p=p)


def hedges_g(groups: Mapping[str, Sequence[float]], first: str, second: str) -> Interval | None:
    """Compute the difference of two groups' means in standard deviations of all groups together, without its bias.

    The interval is that of the noncentral t distribution (Hedges and Olkin 1985). None for groups without variance.
    """
    variance, freedom = pooled_variance(groups.values())
    if not variance:
        return None
    scale = math.sqrt(1 / len(groups[first]) + 1 / len(groups[second]))
    apart = float(np.mean(groups[first]) - np.mean(groups[second])) / math.sqrt(variance)
    low, high = (scale * float(scipy.special.nctdtrinc(freedom, chance, apart / scale)) for chance in (1 - TAIL, TAIL))
    return Interval(difference=(1 - 3 / (4 * freedom - 1)) * apart, low=low, high=high)


def discoveries(p_values: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Tell which of several differences are significant at a false discovery rate of `rate`.

    At most this share of the chosen differences is expected to be due to chance (Benjamini and Hochberg 1995).
    """
    count, ordered = len(p_values), sorted(p_values)
    enough = (p for place, p in enumerate(ordered, start=1) if p * count / place <= rate)
    most = max(enough, default=-1.0)  # it and all below it
    return [p <= most for p in p_values]


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


def ranks(samples: Sequence[Sequence[float]]) -> list[np.ndarray]:
    """Replace each value by its rank among the values of all samples, from 1 on; ties have their mean rank."""
    values = np.concatenate([np.asarray(sample, float) for sample in samples])
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum([len(sample) for sample in samples])
    return np.split((np.cumsum(counts) - (counts - 1) / 2)[place], ends[:-1])


def kruskal_wallis(samples: Sequence[Sequence[float]]) -> float:
    """p value of samples from one distribution, by the sums of ranks: chi-squared, but exact for two samples.

    For two it is the test of Wilcoxon, Mann and Whitney; of few values chi-squared would be too small. Not all values
    may be equal.
    """
    ranked = ranks(samples)
    if len(samples) == 2:
        return _rank_sum_p(*ranked)
    total, counts = sum(map(len, ranked)), np.unique(np.concatenate(ranked), return_counts=True)[1]
    sums = [part.sum() ** 2 / len(part) for part in ranked]
    statistic = 12 / (total * (total + 1)) * sum(sums) - 3 * (total + 1)
    tied = 1 - (counts.astype(float) ** 3 - counts).sum() / (total**3 - total)
    return float(scipy.special.chdtrc(len(samples) - 1, statistic / tied))


def _rank_sum_p(first: np.ndarray, second: np.ndarray) -> float:
    """Share of all divisions of the ranks whose sum on the first side is at least as far from its mean."""
    doubled = np.round(2 * np.concatenate([first, second])).astype(int)  # ties have halves
    ways = np.zeros((len(first) + 1, doubled.sum() + 1))  # by how many ranks were taken, and their sum
    ways[0, 0] = 1
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    apart = np.abs(np.arange(len(ways[0])) - len(first) * doubled.mean())
    far = apart >= abs(2 * first.sum() - len(first) * doubled.mean()) - 1e-9
    return float(ways[-1, far].sum() / ways[-1].sum())
