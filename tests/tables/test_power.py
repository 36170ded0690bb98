"""How many seeds a difference needs."""

import numpy as np
import pytest
from scipy import stats

from lra.tables.seeds_needed import cannot_tell, power, seeds_needed, seeds_needed_on, std_between_seeds
from tests.tables.records import make_record


@pytest.mark.parametrize("difference, seeds", [(0.0, 50), (0.4, 100), (0.5, 64)])
def test_the_power_of_two_rows_of_many_seeds_is_that_of_the_t_test(difference, seeds):
    freedom, noncentrality = 2 * seeds - 2, difference / (2 / seeds) ** 0.5
    edge = stats.t.ppf(0.975, freedom)
    expected = stats.nct.sf(edge, freedom, noncentrality) + stats.nct.cdf(-edge, freedom, noncentrality)
    assert power(difference, seeds, [1.0] * 2) == pytest.approx(expected, abs=0.03)


def test_the_seeds_needed_are_the_textbooks_or_a_few_more():
    found = [seeds_needed(difference, [1.0] * 2) for difference in (0.5, 1.0, 2.0)]
    for needed, textbook in zip(found, (64, 17, 6), strict=True):
        assert textbook <= needed <= 1.1 * textbook + 1
    assert seeds_needed(50.0, [1.0] * 2) == 3, "the fewest that are tested"
    assert seeds_needed(0.001, [1.0] * 2) is None
    assert seeds_needed(1.0, [1.0] * 17) > seeds_needed(1.0, [1.0] * 5) > 17, "more rows are more chances"
    assert seeds_needed(1.0, [1.0, 3.0]) > seeds_needed(1.0, [1.0, 1.0]), "a larger spread"


def test_what_seeds_cannot_tell_has_the_number_that_would():
    rows = {"a": [1.0, 2.0, 3.0], "b": [3.0, 4.0, 5.0], "c": [1.0, 2.0, 3.0, 2.0]}
    stds = [1.0, 1.0, np.std(rows["c"], ddof=1)]
    assert cannot_tell(rows, "b", "a") == f"3 seeds cannot tell; {seeds_needed(2.0, stds)} would"
    assert cannot_tell(rows, "c", "a") == "4 and 3 seeds cannot tell; more than 1,000 would"
    assert cannot_tell({"a": [0.5] * 3, "b": [0.5] * 3}, "b", "a") == "3 seeds cannot tell; more than 1,000 would"


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

    def needed(records, hashes, seeds=3):
        return seeds_needed_on("listops", records, hashes, rows=2, seeds=seeds)

    assert needed([*planned, *other], hashes).spread[0] == pytest.approx(1.0)
    both = needed([*planned, *other, *mixed], set()).spread
    assert both[0] == pytest.approx(np.sqrt((1 + 16) / 2)), "without the row of which some seeds converged"
    unknown = needed(planned[:1], hashes)
    assert (unknown.spread, unknown.counts, unknown.power) == (None, [], None)
    assert needed(planned, hashes).power == power(1.0, 3, [needed(planned, hashes).spread[0]] * 2)
    assert needed(planned, hashes, seeds=2).power is None, "two seeds are not tested"
