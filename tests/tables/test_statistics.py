"""The statistics, against values worked out by hand or by scipy's own tests."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from lra.base.spread import binomial_error, sample_std
from lra.tables.statistics.estimators import hedges_g, paired_bootstrap, student, variance, welch


def test_the_noise_of_the_benchmarks_tests():
    for accuracy, examples, points in ((0.3715, 2000, 1.08), (0.4158, 10_000, 0.49), (0.6552, 25_000, 0.30)):
        assert 100 * binomial_error(accuracy, examples) == pytest.approx(points, abs=0.005)


def test_one_seed_has_no_spread():
    assert sample_std([37.0]) is None
    assert sample_std([36.0, 38.0]) == pytest.approx(2**0.5)


def test_welchs_interval_is_scipys():
    first, second = [37.1, 37.9, 36.8, 37.4], [36.0, 39.5, 33.9]
    found = student(*welch([(1, first), (-1, second)]))
    low, high = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second))


def test_values_without_variance_have_none():
    assert variance([0.1] * 3) == 0, "0.1 + 0.1 + 0.1 is not 3 times 0.1"
    assert hedges_g([31.0] * 3, [30.0] * 3) is None


def test_hedges_g_is_in_standard_deviations_of_both_groups():
    first, second = [1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.5]
    t, scale = stats.ttest_ind(first, second).statistic, (1 / 4 + 1 / 3) ** 0.5
    assert hedges_g(first, second) == pytest.approx(t * scale * (1 - 3 / 19))


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
