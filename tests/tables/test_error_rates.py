"""How often the rule errs, on drawn seeds of which the truth is known: spreads that differ, few rows and many.

Patterns of spreads for which the critical value is made, and others.
"""

import numpy as np
import pytest

from lra.tables.statistics.margins import Margins, all_pairs, critical_value, largest_ratios, with_first
from lra.tables.statistics.significance import compare, significant, significant_pairs

pytestmark = pytest.mark.slow
DRAWS = 20_000
COUNTS = {"three": (3, [3]), "five": (5, [5]), "a long baseline": (10, [3]), "unequal": (3, [8, 5, 3])}  # of seeds
ROWS = [2, 3, 4, 8, 17]
TABLES = 1000  # drawn one by one


def spreads(rows, rng):
    """Standard deviations of the rows, the baseline's first, `[R, 1]`, or `[R, D]` if they are other ones each time."""
    patterns = {"equal": np.ones(rows), "graded": np.geomspace(1, 5, rows), "falling": np.geomspace(5, 1, rows)}
    for large in (5, 3):
        for place in (0, 1, rows - 1):
            patterns[f"row {place} times {large}"] = np.where(np.arange(rows) == place, large, 1)
            patterns[f"all but row {place} times {large}"] = np.where(np.arange(rows) == place, 1, large)
        patterns[f"the first two times {large}"] = np.where(np.arange(rows) < 2, large, 1)
        patterns[f"rows 1 and 2 times {large}"] = np.where((np.arange(rows) > 0) & (np.arange(rows) < 3), large, 1)
        patterns[f"the first half times {large}"] = np.where(np.arange(rows) < rows // 2, large, 1)
        patterns[f"the last half times {large}"] = np.where(np.arange(rows) < rows // 2, 1, large)
    columns = {name: stds[:, None] for name, stds in patterns.items()}
    return columns | {"any, up to five-fold": 5 ** rng.random((rows, DRAWS))}


def draw(counts, stds, rng):
    """Means and sample variances of rows without a difference, `[R, D]`."""
    counts = np.array(counts)[:, None]
    means = stds * rng.standard_normal((len(counts), DRAWS)) / np.sqrt(counts)
    return means, stds**2 * rng.chisquare(np.broadcast_to(counts - 1, means.shape)) / (counts - 1)


def counts_of(kind, rows):
    baseline, others = COUNTS[kind]
    return [baseline, *(others[row % len(others)] for row in range(rows - 1))]


@pytest.mark.some_in_ci(4)
@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("rows", ROWS)
def test_any_row_is_called_different_by_chance_with_the_probability_that_is_said(rows, kind):
    rng, counts = np.random.default_rng(rows), counts_of(kind, rows)
    critical = {each: critical_value(counts, has_baseline=each) for each in (True, False)}
    rates = {}
    for name, stds in spreads(rows, rng).items():
        means, variances = draw(counts, stds, rng)
        margins = Margins(variances, counts)
        rates[name] = np.mean(largest_ratios(means, margins, with_first(rows)) > critical[True])
        rates[f"{name}, all pairs"] = np.mean(largest_ratios(means, margins, all_pairs(rows)) > critical[False])
    assert max(rates.values()) <= 0.06, rates


@pytest.mark.some_in_ci(4)
@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("rows", ROWS)
def test_intervals_cover_the_difference(rows, kind):
    rng, counts = np.random.default_rng(rows), counts_of(kind, rows)
    coverage = {}
    for name, stds in spreads(rows, rng).items():
        means, variances = draw(counts, stds, rng)
        for row in range(1, rows):
            two = [counts[0], counts[row]]
            half = Margins(variances[[0, row]], two).between(1, 0) * critical_value(two, has_baseline=True)
            coverage[name, row] = np.mean(np.abs(means[row] - means[0]) <= half)
    assert min(coverage.values()) >= 0.93, coverage


@pytest.mark.some_in_ci(2)
@pytest.mark.parametrize(
    ("rows", "large"), [(2, [1]), (3, [0]), (4, [0]), (17, [5]), (17, [0])], ids=lambda value: str(value)
)
def test_what_the_rule_says_of_rows_without_a_difference(rows, large):
    rng, found, pairs = np.random.default_rng(0), [], []
    for _ in range(TABLES):
        seeds = {str(row): rng.normal(0, 5 if row in large else 1, 3).tolist() for row in range(rows)}
        found.append(bool(significant([compare(seeds, "0")])))
        pairs.append(rows < 17 and bool(significant_pairs(seeds)))
    assert np.mean(found) < 0.07
    assert np.mean(pairs) < 0.07


def test_intervals_of_a_baseline_that_spreads_more_cover_the_difference():
    rng, hits = np.random.default_rng(1), []
    for _ in range(TABLES):
        seeds = {str(row): rng.normal(row, 1 if row else 5, 3).tolist() for row in range(3)}
        interval = compare(seeds, "0").differences["2"]
        hits.append(interval.low <= 2 <= interval.high)
    assert np.mean(hits) > 0.93


def test_five_standard_deviations_are_found_with_three_rows_of_three_seeds():
    rng, found = np.random.default_rng(2), []
    for _ in range(TABLES):
        seeds = {str(row): rng.normal(5 if row == 1 else 0, 1, 3).tolist() for row in range(3)}
        found.append(("1" in significant([compare(seeds, "0")]), len(significant_pairs(seeds)) == 2))
    assert np.mean(found, axis=0).min() > 0.8


def test_eight_seeds_tell_what_three_do_not():
    """Of spreads as those of `full` and `s4d` on the short ListOps with `protocol=s4`."""
    rng, found = np.random.default_rng(3), []
    for _ in range(TABLES):
        seeds = {"full": rng.normal(0, 0.28, 8).tolist(), "s4d": rng.normal(1.94, 1.5, 8).tolist()}
        found.append(bool(significant([compare(seeds, "full")])))
    assert np.mean(found) > 0.8
