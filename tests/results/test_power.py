"""How many seeds a difference needs."""

import numpy as np
import pytest
from scipy import stats

from lra.results.significance import power, seeds_needed, seeds_note, std_between_seeds
from tests.results.records import make_record


@pytest.mark.parametrize("difference, seeds", [(0.0, 5), (1.0, 17), (2.0, 6), (3.0, 3)])
def test_the_power_for_two_rows_is_that_of_the_t_test(difference, seeds):
    freedom, noncentrality = 2 * seeds - 2, difference / (2 / seeds) ** 0.5
    edge = stats.t.ppf(0.975, freedom)
    expected = stats.nct.sf(edge, freedom, noncentrality) + stats.nct.cdf(-edge, freedom, noncentrality)
    assert power(difference, seeds, 2) == pytest.approx(expected, abs=0.006)


def test_the_seeds_needed_are_the_textbooks():
    assert [seeds_needed(difference, 2) for difference in (0.5, 1.0, 2.0)] == [pytest.approx(64, abs=1), 17, 6]
    assert seeds_needed(50.0, 2) == 3, "the fewest that are tested"
    assert seeds_needed(0.001, 2) is None
    assert seeds_needed(1.0, 17) > seeds_needed(1.0, 5) > 17, "more rows are more chances"


def test_the_spread_is_pooled_and_has_its_interval():
    rows = [[1.0, 2.0, 3.0], [5.0, 5.5], [7.0]]
    std, low, high = std_between_seeds(rows)
    assert std**2 == pytest.approx((2 * 1.0 + 0.125) / 3)
    assert (low, high) == pytest.approx(tuple((3 * std**2 / stats.chi2.ppf(side, 3)) ** 0.5 for side in (0.975, 0.025)))
    assert std_between_seeds([[1.0], [2.0, 2.0]]) is None


def test_the_spread_is_of_the_same_settings_if_there_are_any():
    def runs(attention, *accuracies):
        return [make_record(attention=attention, seed=seed, accuracy=each) for seed, each in enumerate(accuracies)]

    planned, other = runs("full", 0.36, 0.37, 0.38), runs("nystrom", 0.30, 0.34, 0.38)
    mixed = runs("linformer", 0.37, 0.18, 0.36)
    hashes = {planned[0]["provenance"]["config_hash"]}
    assert "1.00 points" in seeds_note("listops", [*planned, *other], hashes, rows=2, seeds=3)
    both = f"{np.sqrt((1 + 16) / 2):.2f} points"
    assert both in seeds_note("listops", [*planned, *other, *mixed], set(), rows=2, seeds=3), "some seeds converged"
    assert "unknown" in seeds_note("listops", planned[:1], hashes, rows=2, seeds=3)
    assert "not tested" in seeds_note("listops", planned, hashes, rows=2, seeds=2)
