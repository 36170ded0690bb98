"""How many seeds the rule of `lra/tables/statistics/significance.py` needs to find a difference, by simulation.

Letters: R rows, D draws.
"""

import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from lra.runs.schema import Record
from lra.tables.cells import make_rows
from lra.tables.statistics.estimators import LEAST_SEEDS_FOR_T, TAIL, pooled_variance, variance
from lra.tables.statistics.margins import Margins, critical_value
from lra.tables.statistics.significance import Seeds

POINTS = 1.0  # the difference to find
POWER = 0.8  # the probability to find it that is enough
MOST_SEEDS = 1_000
DRAWS = 2_000
DRAWN_MEANS = 60_000  # for a critical value, of all rows together
COUNTS = (3, 5, 100)  # of seeds, for which the critical value is made: between them it is nearly linear


def power(difference: float, seeds: int, stds: Sequence[float]) -> float:
    """Compute how probably the second row is significantly different from the first one, the baseline.

    Of rows of `seeds` normal values it alone differs, by `difference`; `stds` are the standard deviations of all rows,
    in the same unit.
    """
    means_RD, variances_RD = _drawn(seeds, len(stds))
    differences_D = np.abs(difference + stds[1] * means_RD[1] - stds[0] * means_RD[0])
    margins_D = Margins(np.array(stds)[:, None] ** 2 * variances_RD, [seeds] * len(stds)).between(1, 0)
    return float((differences_D > critical_value_of(seeds, len(stds)) * margins_D).mean())


@functools.lru_cache(maxsize=64)
def _drawn(seeds: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and sample variances of rows of standard normal values, `[R, D]`."""
    rng = np.random.default_rng(0)
    means_RD = rng.standard_normal((rows, DRAWS)) / math.sqrt(seeds)
    return means_RD, rng.standard_gamma((seeds - 1) / 2, (rows, DRAWS)) * 2 / (seeds - 1)


def critical_value_of(seeds: int, rows: int) -> float:
    """The critical value for rows of so many seeds each, interpolated between `COUNTS` over 1 / (seeds − 1)."""
    values = _critical_values(rows)
    inverses = [1 / (count - 1) for count in COUNTS]
    return float(np.interp(1 / (seeds - 1), inverses[::-1], values[::-1]))


@functools.cache
def _critical_values(rows: int) -> list[float]:
    return [critical_value([count] * rows, has_baseline=True, drawn_means=DRAWN_MEANS) for count in COUNTS]


def seeds_needed(difference: float, stds: Sequence[float]) -> int | None:
    """Find the number of seeds of each row from which on `power` is at least 80 %; None above `MOST_SEEDS`."""
    if power(difference, MOST_SEEDS, stds) < POWER:
        return None
    low, high = LEAST_SEEDS_FOR_T - 1, MOST_SEEDS
    while high - low > 1:
        middle = math.isqrt(low * high) if high > 2 * low else (low + high) // 2
        low, high = (low, middle) if power(difference, middle, stds) >= POWER else (middle, high)
    return high


def enough_seeds(seeds: Seeds, name: str, baseline: str) -> int | None:
    """Find how many seeds of each row find a true difference as large as the measured one of a row from the baseline.

    They find it at the measured spreads of all rows, with a probability of 80 %; None above `MOST_SEEDS`.
    """
    in_order = [baseline, name, *(row for row in seeds if row not in (baseline, name))]
    difference = float(np.mean(seeds[name]) - np.mean(seeds[baseline]))
    return _seeds_needed(difference, tuple(math.sqrt(variance(seeds[row])) for row in in_order))


@functools.lru_cache(maxsize=256)  # a table and the sentence above it ask for the same
def _seeds_needed(difference: float, stds: tuple[float, ...]) -> int | None:
    return seeds_needed(difference, stds)


def cannot_tell(seeds: Seeds, name: str, baseline: str) -> str:
    """Word that a row is not significantly different from the baseline: `3 seeds cannot tell; 12 would`.

    So many are those of `enough_seeds`.
    """
    would = seeds_in_words(enough_seeds(seeds, name, baseline))
    return f"{few_seeds(len(seeds[name]), len(seeds[baseline]))}; {would} would"


def seeds_in_words(needed: int | None) -> str:
    """Write a number of seeds, of which None is more than were tried: `12`, or `more than 1,000`."""
    return f"more than {MOST_SEEDS:,}" if needed is None else f"{needed:,}"


def few_seeds(count: int, count_of_baseline: int) -> str:
    """Word that seeds do not decide: `3 seeds cannot tell`, `3 and 5 seeds cannot tell`."""
    return f"{' and '.join(dict.fromkeys((str(count), str(count_of_baseline))))} seeds cannot tell"


def std_between_seeds(rows: Sequence[Sequence[float]]) -> tuple[float, float, float] | None:
    """Pool the standard deviation of rows of several values: itself, and its 95 % interval; None without a spread."""
    several = [row for row in rows if len(row) > 1]
    pooled, freedom = pooled_variance(several) if several else (0.0, 0)
    if not pooled:
        return None
    low, high = np.sqrt(pooled * freedom / scipy.special.chdtri(freedom, [TAIL, 1 - TAIL]))
    return math.sqrt(pooled), float(low), float(high)


@dataclass(frozen=True, kw_only=True)
class SeedsNeeded:
    """How many seeds of each row a difference of one point would need on a task.

    Attributes:
        task: the task.
        rows, seeds: number of rows, and of the planned seeds of each.
        spread: the standard deviation between seeds in points, and its 95 % interval; None where it is unknown.
        of: the settings of the records that it is of, in words.
    """

    task: str
    rows: int
    seeds: int
    spread: tuple[float, float, float] | None = None
    of: str = ""

    @cached_property
    def counts(self) -> list[int | None]:
        """The number of seeds at that spread and at both ends of its interval; None above `MOST_SEEDS`."""
        return [seeds_needed(POINTS, [std] * self.rows) for std in self.spread or ()]

    @property
    def power(self) -> float | None:
        """The probability to find the difference with the planned seeds; None where so few are not tested."""
        if self.spread is None or self.seeds < LEAST_SEEDS_FOR_T:
            return None
        return power(POINTS, self.seeds, [self.spread[0]] * self.rows)

    @property
    def note(self) -> str:
        """It in words."""
        if self.spread is None:
            why = "because no record below the folder of runs has a second seed"
            return f"{self.task}: seeds needed are unknown, {why}."
        std, low, high = self.spread
        best, least, most = map(seeds_in_words, self.counts)
        found = self.power
        now = "not tested" if found is None else f"{100 * found:.0f} %"
        return (
            f"{self.task}: a difference of {POINTS:g} point from the baseline, of one row alone, is significant with a"
            f" probability of {100 * POWER:.0f} % from {best} seeds on [{least}, {most}]; with {self.seeds} seeds:"
            f" {now}. Standard deviation between seeds: {std:.2f} points [{low:.2f}, {high:.2f}], of {self.of} on"
            " record."
        )


def seeds_needed_on(
    task: str, records: Sequence[Record], hashes: Collection[str], *, rows: int, seeds: int
) -> SeedsNeeded:
    """Find how many seeds a difference of one point would need, of `rows` rows with `seeds` planned seeds each.

    The spread is that of the task's records with these hashes of settings, or of all if there are none; rows of which
    only some seeds converged are left out.
    """
    sources = {
        "equal settings": [record for record in records if record.config_hash in hashes],
        "other settings of this task, protocol and size": records,
    }
    for of, chosen in sources.items():
        cells = [cell for row in make_rows(chosen) for cell in row.cells.values()]
        spread = std_between_seeds([cell.accuracies for cell in cells if not cell.partly_converged])
        if spread is not None:
            return SeedsNeeded(task=task, rows=rows, seeds=seeds, spread=spread, of=of)
    return SeedsNeeded(task=task, rows=rows, seeds=seeds)
