"""The statistics, against values worked out by hand or by scipy's own tests."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from lra.results.statistics import (
    binomial_error,
    discoveries,
    hedges_g,
    paired_bootstrap,
    pooled_t,
    sample_std,
    welch_t,
)


def test_the_noise_of_the_benchmarks_tests():
    for accuracy, examples, points in ((0.3715, 2000, 1.08), (0.4158, 10_000, 0.49), (0.6552, 25_000, 0.30)):
        assert 100 * binomial_error(accuracy, examples) == pytest.approx(points, abs=0.005)


def test_one_seed_has_no_spread():
    assert sample_std([37.0]) is None
    assert sample_std([36.0, 38.0]) == pytest.approx(2**0.5)


def test_welchs_interval_is_scipys():
    first, second = [37.1, 37.9, 36.8, 37.4], [36.0, 39.5, 33.9]
    found, expected = welch_t(first, second), stats.ttest_ind(first, second, equal_var=False)
    low, high = expected.confidence_interval(0.95)
    assert (found.low, found.high, found.p) == pytest.approx((low, high, expected.pvalue))
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second))


@pytest.mark.parametrize("lead, p", [(0.0, 1.0), (1.0, 0.0)])
def test_values_without_variance_are_certain(lead, p):
    assert welch_t([30.0 + lead] * 3, [30.0] * 3).p == p
    assert pooled_t({"a": [30.0 + lead] * 3, "b": [30.0] * 3}, "a", "b").p == p
    assert hedges_g({"a": [30.0 + lead] * 3, "b": [30.0] * 3}, "a", "b") is None


def test_hedges_g_has_the_interval_of_the_noncentral_t():
    groups = {"a": [1.0, 2.0, 3.0, 4.0], "b": [3.0, 4.0, 5.5]}
    found = hedges_g(groups, "a", "b")
    t, scale = stats.ttest_ind(*groups.values()).statistic, (1 / 4 + 1 / 3) ** 0.5
    assert found.difference == pytest.approx(t * scale * (1 - 3 / 19))
    assert stats.nct.sf(t, 5, found.low / scale) == pytest.approx(0.025, rel=1e-4)
    assert stats.nct.cdf(t, 5, found.high / scale) == pytest.approx(0.025, rel=1e-4)


def test_of_several_differences_fewer_are_beyond_noise():
    p_values = [0.001, 0.02, 0.03, 0.045, 0.6]  # the limits are .01, .02, .03, .04, .05
    assert discoveries(p_values) == [True, True, True, False, False]
    assert discoveries([0.045]) == [True]


def test_the_bootstrap_agrees_with_the_normal_interval_of_paired_examples():
    rng = np.random.default_rng(0)
    first = rng.random((2, 2000)) < 0.40
    second = rng.random((2, 2000)) < 0.35
    found = paired_bootstrap(list(first), list(second))
    differences = first.mean(0) - second.mean(0)
    error = differences.std() / 2000**0.5
    assert found.difference == pytest.approx(differences.mean())
    assert (found.low, found.high) == pytest.approx(
        (found.difference - 1.96 * error, found.difference + 1.96 * error), abs=0.1 * error + 0.0005
    )
    assert found == paired_bootstrap(list(first), list(second)), "the same examples, the same interval"


def test_the_bootstrap_is_that_which_draws_each_example():
    rng = np.random.default_rng(1)
    first, second = rng.random((3, 300)) < 0.93, rng.random((3, 300)) < 0.90
    found = paired_bootstrap(list(first), list(second))
    drawn = stats.bootstrap(
        (first.mean(0) - second.mean(0),), np.mean, n_resamples=20_000, batch=1000, method="percentile", rng=rng
    )
    expected = drawn.confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.04 * (found.high - found.low))


@pytest.mark.parametrize("seeds", [(1, 1), (2, 2), (2, 3)])
def test_the_bootstrap_of_few_examples_is_that_of_all_resamples(seeds):
    rng = np.random.default_rng(2)
    first, second = (rng.random((count, 5)) < rate for count, rate in zip(seeds, (0.7, 0.4), strict=True))
    found = paired_bootstrap(list(first), list(second))
    differences = first.mean(0) - second.mean(0)
    every = sorted(float(np.mean(drawn)) for drawn in product(differences, repeat=5))
    low, high = (every[math.ceil(tail * len(every)) - 1] for tail in (0.025, 0.975))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_bootstrap_of_equal_models_has_no_width():
    right = [np.array([True, False, True])] * 2
    found = paired_bootstrap(right, right)
    assert (found.difference, found.low, found.high) == (0, 0, 0)
