"""Rank correlations have the numbers of scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from lra.tables.statistics.estimators import kendall, kendall_taus


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
