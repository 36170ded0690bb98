"""The statistics on drawn data of which the truth is known: coverage of intervals, false positives, power.

Bounds are the nominal values with the noise of the draws, of about 1 %. `test_error_rates.py` has the rule's errors.
"""

import numpy as np
import pytest

from lra.tables.seeds_needed import power, seeds_needed, std_between_seeds
from lra.tables.statistics.estimators import hedges_g, kendall, paired_bootstrap
from lra.tables.statistics.significance import compare, significant

pytestmark = pytest.mark.slow
DRAWS = 1000


def rows(rng, means, stds, seeds):
    return {str(place): rng.normal(mean, std, seeds) for place, (mean, std) in enumerate(zip(means, stds, strict=True))}


@pytest.mark.parametrize("count", [2, 6])
def test_seeds_that_converge_by_chance_make_no_difference(count):
    """Tables leave such rows out; the rule is safe without that, too."""
    rng, found = np.random.default_rng(2), []
    for _ in range(DRAWS):
        drawn = {str(row): 15 + 20 * rng.integers(2, size=3) + rng.normal(0, 0.5, 3) for row in range(count)}
        found.append(bool(significant([compare({name: values.tolist() for name, values in drawn.items()}, "0")])))
    assert np.mean(found) < 0.065


def test_hedges_g_has_no_bias():
    rng = np.random.default_rng(6)
    drawn = [hedges_g(rng.normal(1.5, 1, 5).tolist(), rng.normal(0, 1, 4).tolist()) for _ in range(4 * DRAWS)]
    assert np.mean(drawn) == pytest.approx(1.5, abs=0.05)


@pytest.mark.some_in_ci(2)
@pytest.mark.parametrize("spread_apart", [False, True])
@pytest.mark.parametrize(("difference", "count", "seeds"), [(1.5, 2, 8), (2.0, 5, 6), (2.5, 17, 5)])
def test_the_power_is_how_often_the_difference_is_found(difference, count, seeds, spread_apart):
    rng = np.random.default_rng(7)
    means = [0, difference, *[0] * (count - 2)]
    stds = [0.8, 0.4, *[2] * (count - 2)] if spread_apart else [1] * count
    found = ["1" in significant([compare(rows(rng, means, stds, seeds), "0")]) for _ in range(DRAWS)]
    assert np.mean(found) == pytest.approx(power(difference, seeds, stds), abs=0.05)
    needed = seeds_needed(difference, stds)
    assert power(difference, needed, stds) >= 0.8 > power(difference, needed - 1, stds)


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
