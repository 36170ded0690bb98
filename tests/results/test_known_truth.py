"""The statistics on drawn data of which the truth is known: coverage of intervals, false positives, power.

Bounds are the nominal values with the noise of the draws, of about 1 %.
"""

import numpy as np
import pytest

from lra.results.significance import compare, power, seeds_needed, significant, significant_pairs, std_between_seeds
from lra.results.statistics import kendall, paired_bootstrap

pytestmark = pytest.mark.slow
DRAWS = 1000


def rows(rng, means, stds, seeds):
    return {str(place): rng.normal(mean, std, seeds) for place, (mean, std) in enumerate(zip(means, stds, strict=True))}


def false_positives(draw):
    """How often anything is significant."""
    return np.mean([bool(significant([compare(draw(), "0")])) for _ in range(DRAWS)])


@pytest.mark.some_in_ci(2)
@pytest.mark.parametrize("seeds", [3, 8])
@pytest.mark.parametrize("count", [2, 3, 17])
def test_equal_rows_are_rarely_called_different(count, seeds):
    rng = np.random.default_rng(0)
    assert false_positives(lambda: rows(rng, [0] * count, [1] * count, seeds)) < 0.065


@pytest.mark.parametrize(("count", "most"), [(2, 0.10), (3, 0.12), (6, 0.065), (17, 0.065)])
def test_rows_of_equal_means_and_other_variances_are_so_too_but_with_few_rows(count, most):
    rng = np.random.default_rng(1)
    assert false_positives(lambda: rows(rng, [0] * count, ([1, 5] * count)[:count], 3)) < most


@pytest.mark.parametrize("count", [2, 6])
def test_seeds_that_converge_by_chance_make_no_difference(count):
    rng = np.random.default_rng(2)

    def draw():
        return {str(row): 15 + 20 * rng.integers(2, size=3) + rng.normal(0, 0.5, 3) for row in range(count)}

    assert false_positives(draw) < 0.065


def test_the_false_discovery_rate_holds_where_half_of_the_rows_differ():
    rng, shares = np.random.default_rng(3), []
    for _ in range(DRAWS):
        found = significant([compare(rows(rng, [0] * 9 + [4] * 8, [1] * 17, 3), "0")])
        shares.append(sum(int(name) < 9 for name in found) / max(len(found), 1))
    assert np.mean(shares) < 0.06


def test_no_pair_of_equal_rows_differs():
    rng = np.random.default_rng(4)
    assert np.mean([bool(significant_pairs(rows(rng, [0] * 5, [1] * 5, 3))) for _ in range(DRAWS)]) < 0.065


@pytest.mark.parametrize(("count", "stds"), [(2, [1] * 2), (6, [1] * 6), (6, [0.2, 1, 5, 1, 1, 1])])
def test_intervals_over_seeds_cover_the_difference(count, stds):
    rng, hits, effects = np.random.default_rng(5), [], []
    for _ in range(2 * DRAWS):
        found = compare(rows(rng, range(count), stds, 4), "0")
        hits.append(found.differences["1"].low <= 1 <= found.differences["1"].high)
        effects += [effect.low <= 1 <= effect.high for name, effect in found.effects.items() if name == "1"]
    assert 0.93 < np.mean(hits) < 0.975
    if stds == [1] * count:
        assert 0.935 < np.mean(effects) < 0.965


def test_hedges_g_has_no_bias():
    rng = np.random.default_rng(6)
    drawn = [compare(rows(rng, [0, 1.5], [1, 1], 5), "0").effects for _ in range(4 * DRAWS)]
    assert np.mean([effect["1"].difference for effect in drawn if effect]) == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize(("difference", "count", "seeds"), [(1.5, 2, 8), (2.0, 5, 6), (2.5, 17, 5)])
def test_the_power_is_how_often_the_difference_is_found(difference, count, seeds):
    rng = np.random.default_rng(7)
    means = [0, difference, *[0] * (count - 2)]
    found = ["1" in significant([compare(rows(rng, means, [1] * count, seeds), "0")]) for _ in range(DRAWS)]
    assert np.mean(found) == pytest.approx(power(difference, seeds, count), abs=0.05)
    needed = seeds_needed(difference, count)
    assert power(difference, needed, count) >= 0.8 > power(difference, needed - 1, count)


def test_the_interval_of_the_spread_covers_it():
    rng = np.random.default_rng(8)
    spreads = [std_between_seeds(list(rng.normal([[0], [5], [9]], 2, (3, 3)))) for _ in range(2 * DRAWS)]
    assert np.mean([low <= 2 <= high for _, low, high in spreads]) == pytest.approx(0.95, abs=0.015)


def test_the_bootstrap_covers_the_difference_of_trained_models():
    rng, hits, chances = np.random.default_rng(9), [], np.random.default_rng(10).random((2, 5000))
    truth = (chances[0] < 0.8).mean() - (chances[1] < 0.75).mean()
    for _ in range(DRAWS):
        chosen = rng.integers(5000, size=1000)  # the test examples, of all that there are
        found = paired_bootstrap([chances[0, chosen] < 0.8], [chances[1, chosen] < 0.75])
        hits.append(found.low <= truth <= found.high)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.02)


def test_orders_without_a_correlation_are_rarely_called_correlated():
    rng = np.random.default_rng(11)
    for count in (5, 8, 40):
        drawn = [kendall(*rng.normal(size=(2, count)))[1] <= 0.05 for _ in range(DRAWS)]
        assert np.mean(drawn) < 0.065
