"""Tests by rank have the numbers of scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lra.results.statistics import discoveries, kendall, kendall_taus, kruskal_wallis, paired_t


@pytest.mark.parametrize("levels", [3, 8, 10**6])
@pytest.mark.parametrize("count", [3, 4, 7, 17, 33, 40])
def test_kendalls_correlation_is_scipys(count, levels):
    rng = np.random.default_rng(count)
    for _ in range(10):
        first, second = rng.integers(levels, size=(2, count)).tolist()
        expected = stats.kendalltau(first, second)
        if np.isnan(expected.statistic):
            continue
        assert kendall(first, second) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)


def test_many_correlations_are_those_of_each():
    rng = np.random.default_rng(0)
    rows, values = rng.integers(4, size=(50, 5)), rng.integers(9, size=5).tolist()
    expected = [stats.kendalltau(row, values).statistic for row in rows]
    np.testing.assert_allclose(kendall_taus(rows, values), expected, rtol=1e-12)
    assert np.isnan(kendall_taus(np.ones((1, 5)), values)).all()


@pytest.mark.parametrize("levels", [2, 5, 10**6])
def test_the_comparison_of_samples_is_scipys(levels):
    rng = np.random.default_rng(levels)
    samples = [rng.integers(levels, size=size) / 7 for size in (2, 3, 5, 8)]
    assert kruskal_wallis(samples) == pytest.approx(stats.kruskal(*samples).pvalue, rel=1e-12)


def test_students_interval_is_scipys():
    first, second = [37.1, 36.2, 38.4, 35.0], [36.0, 36.1, 36.5, 35.5]
    ours, theirs = paired_t(first, second), stats.ttest_rel(first, second)
    low, high = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high, ours.p) == pytest.approx((low, high, theirs.pvalue), rel=1e-12)


def test_discoveries_are_scipys():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p_values = (rng.random(12) ** 4).tolist()
        expected = stats.false_discovery_control(p_values) <= 0.05
        assert discoveries(p_values) == expected.tolist()
