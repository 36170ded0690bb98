"""How many seeds the rule of `lra/results/significance.py` needs to find a difference, by simulation.

Letters: D draws.
"""

import functools
import math
from collections.abc import Collection, Sequence

import numpy as np
import scipy

from lra.results.cells import make_cell
from lra.results.margins import Margins, critical_value
from lra.results.significance import Seeds
from lra.results.statistics import LEAST_SEEDS_FOR_T, TAIL, pooled_variance, variance
from lra.results.variants import group_by_variant
from lra.runs.schema import Record

POINTS = 1.0  # the difference to find
POWER = 0.8  # the probability to find it that is enough
MOST_SEEDS = 1_000
DRAWS = 2_000
DRAWN_MEANS = 60_000  # for a critical value, of all rows together
COUNTS = (3, 5, 100)  # of seeds, for which the critical value is made: between them it is nearly linear
Spreads = tuple[float, float, float]  # standard deviations between the seeds of two rows, and of all others together
ALIKE: Spreads = (1.0, 1.0, 1.0)


def power(difference: float, seeds: int, rows: int, spreads: Spreads = ALIKE) -> float:
    """Compute how probably one row is significantly different from the baseline.

    Of `rows` rows of `seeds` normal values this one differs, by `difference` in the unit of `spreads`: those of the
    row, the baseline, and all others.
    """
    rng, freedom = np.random.default_rng(0), seeds - 1
    others = (rows - 2) * freedom  # degrees of freedom; one row of one more seed has the same pooled variance
    counts = [seeds, seeds, others + 1] if others else [seeds, seeds]
    error = math.sqrt((spreads[0] ** 2 + spreads[1] ** 2) / seeds)
    ratios_D = np.abs(difference + error * rng.standard_normal(DRAWS))
    variances_RD = np.stack(
        [
            std**2 * rng.standard_gamma((count - 1) / 2, DRAWS) * 2 / (count - 1)
            for std, count in zip(spreads, counts, strict=False)
        ]
    )
    margins_D = Margins(variances_RD, counts).between(0, 1)
    return float((ratios_D > critical_value_of(seeds, rows) * margins_D).mean())


def critical_value_of(seeds: int, rows: int) -> float:
    """The critical value for rows of so many seeds each, interpolated between `COUNTS` over 1 / (seeds − 1)."""
    values = _critical_values(rows)
    places = [1 / (count - 1) for count in COUNTS]
    return float(np.interp(1 / (seeds - 1), places[::-1], values[::-1]))


@functools.cache
def _critical_values(rows: int) -> list[float]:
    return [critical_value([count] * rows, has_baseline=True, drawn_means=DRAWN_MEANS) for count in COUNTS]


def seeds_needed(difference: float, rows: int, spreads: Spreads = ALIKE) -> int | None:
    """Find the number of seeds of each row from which on `power` is at least 80 %; None above `MOST_SEEDS`."""
    if power(difference, MOST_SEEDS, rows, spreads) < POWER:
        return None
    low, high = LEAST_SEEDS_FOR_T - 1, MOST_SEEDS
    while high - low > 1:
        middle = math.isqrt(low * high) if high > 2 * low else (low + high) // 2
        low, high = (low, middle) if power(difference, middle, rows, spreads) >= POWER else (middle, high)
    return high


def cannot_tell(seeds: Seeds, name: str, baseline: str) -> str:
    """Word that a row is not significantly different from the baseline: `3 seeds cannot tell; 12 would`.

    So many seeds of each row find a true difference as large as the measured one, at the measured spreads, with a
    probability of 80 %.
    """
    others = [values for row, values in seeds.items() if row not in (name, baseline)]
    spread_of_others = math.sqrt(pooled_variance(others)[0]) if others else 0.0
    spreads = (math.sqrt(variance(seeds[name])), math.sqrt(variance(seeds[baseline])), spread_of_others)
    difference = float(np.mean(seeds[name]) - np.mean(seeds[baseline]))
    needed = seeds_needed(difference, len(seeds), spreads)
    would = f"more than {MOST_SEEDS:,}" if needed is None else f"{needed:,}"
    return f"{few_seeds(len(seeds[name]), len(seeds[baseline]))}; {would} would"


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


def seeds_note(task: str, records: Sequence[Record], hashes: Collection[str], *, rows: int, seeds: int) -> str:
    """Word how many seeds a difference of one point would need, of `rows` rows with `seeds` planned seeds each.

    The spread is that of the task's records with these hashes of settings, or of all if there are none; rows of which
    only some seeds converged are left out.
    """
    sources = {
        "equal settings": [record for record in records if record["provenance"]["config_hash"] in hashes],
        "other settings of this task, protocol and size": records,
    }
    for of, chosen in sources.items():
        cells = [make_cell(members, "paper") for members in group_by_variant(chosen).values()]
        stds = std_between_seeds([cell.accuracies for cell in cells if not cell.partly_converged])
        if stds is not None:
            return f"{task}: {_needed(*stds, rows, seeds)}, of {of} on record."
    return f"{task}: seeds needed are unknown, because no record below the folder of runs has a second seed."


def _needed(std: float, low: float, high: float, rows: int, seeds: int) -> str:
    counts = [seeds_needed(POINTS / each, rows) for each in (std, low, high)]
    best, least, most = (f"more than {MOST_SEEDS:,}" if count is None else f"{count:,}" for count in counts)
    now = f"{100 * power(POINTS / std, seeds, rows):.0f} %" if seeds >= LEAST_SEEDS_FOR_T else "not tested"
    return (
        f"a difference of {POINTS:g} point from the baseline, of one row alone, is significant with a probability of"
        f" {100 * POWER:.0f} % from {best} seeds on [{least}, {most}]; with {seeds} seeds: {now}. Standard deviation"
        f" between seeds: {std:.2f} points [{low:.2f}, {high:.2f}]"
    )
