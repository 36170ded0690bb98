"""Tests by rank have the numbers of scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from lra.results.statistics import discoveries, kendall, kendall_taus, kruskal_wallis


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


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (9, 9), (12, 20)])
def test_two_samples_have_the_exact_test_of_their_ranks(sizes):
    rng = np.random.default_rng(sum(sizes))
    first, second = rng.normal(size=sizes[0]), rng.normal(0.7, size=sizes[1])
    assert kruskal_wallis([first, second]) == pytest.approx(stats.mannwhitneyu(first, second, method="exact").pvalue)


def test_the_exact_test_has_the_mean_ranks_of_ties():
    assert kruskal_wallis([[1, 2, 2], [2, 3, 3]]) == pytest.approx(6 / 20), "6 of the 20 divisions are as far apart"
    assert kruskal_wallis([[1, 2, 3], [4, 5, 6]]) == pytest.approx(0.1)


def test_discoveries_are_scipys():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p_values = (rng.random(12) ** 4).tolist()
        expected = stats.false_discovery_control(p_values) <= 0.05
        assert discoveries(p_values) == expected.tolist()
