"""How many seeds a difference needs: the power of the tests of `lra.results.significance`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from lra.results.cells import make_cell
from lra.results.significance import ALPHA
from lra.results.statistics import CONFIDENCE, LEAST_SEEDS_FOR_T, pooled_variance
from lra.results.variants import group_by_variant
from lra.runs.schema import Record

POINTS = 1.0  # the difference to find
POWER = 0.8
DRAWS = 20_000
MOST_SEEDS = 10_000


def std_between_seeds(rows: Sequence[Sequence[float]]) -> tuple[float, float, float] | None:
    """Pool the standard deviation of rows of several values: itself, and its 95 % interval; None without a spread."""
    from scipy.special import chdtri  # not scipy.stats, whose import takes longer than a whole table

    several = [row for row in rows if len(row) > 1]
    variance, freedom = pooled_variance(several) if several else (0.0, 0)
    if not variance:
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = (math.sqrt(variance * freedom / float(chdtri(freedom, chance))) for chance in (tail, 1 - tail))
    return math.sqrt(variance), low, high


def power(difference: float, seeds: int, rows: int) -> float:
    """Compute how probably the difference of one row from the baseline is significant, if it alone differs.

    The tests are the omnibus F test and the pooled t tests at a false discovery rate, of `rows` rows of `seeds` normal
    values, drawn `DRAWS` times; `difference` is in standard deviations between seeds.
    """
    from scipy.special import chdtri, fdtri, stdtrit

    rng, freedom, others = np.random.default_rng(0), rows * (seeds - 1), rows - 1
    means = rng.standard_normal((DRAWS, rows)) / math.sqrt(seeds)
    means[:, 1] += difference
    variance = chdtri(freedom, rng.random(DRAWS)) / freedom
    differs = seeds * means.var(axis=1, ddof=1) / variance >= fdtri(others, freedom, 1 - ALPHA)
    t = np.abs(means[:, 1:] - means[:, :1]) / np.sqrt(2 * variance / seeds)[:, None]
    enough = stdtrit(freedom, 1 - ALPHA * np.arange(1, others + 1) / others / 2)  # of the first, second, … in order
    ordered = -np.sort(-t, axis=1)
    least = np.where(ordered >= enough, ordered, np.inf).min(axis=1)
    return float((differs & (t[:, 0] >= least)).mean())


def seeds_needed(difference: float, rows: int) -> int | None:
    """Find the number of seeds of each row from which on `power` is at least 80 %; None above `MOST_SEEDS`."""
    low, high = LEAST_SEEDS_FOR_T - 1, LEAST_SEEDS_FOR_T
    while power(difference, high, rows) < POWER:
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(difference, middle, rows) >= POWER else (middle, high)
    return high


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
