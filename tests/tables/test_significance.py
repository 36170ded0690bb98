"""The rule that calls differences significant."""

import math

import numpy as np
import pytest
from scipy import stats

from lra.tables.statistics.margins import LEAST_P, Margins, critical_value, p_value
from lra.tables.statistics.significance import Pair, compare, significant, significant_pairs

OLD = {"a": [30.0, 31.0, 30.5], "b": [20.0, 21.0, 20.5], "c": [20.2, 20.8, 20.3]}


def test_pairs_that_differ_significantly_have_the_better_method_first():
    assert significant_pairs(OLD) == {Pair("a", "b"), Pair("a", "c")}
    assert not significant_pairs({"a": [20.0, 30.0, 25.0], "b": [21.0, 29.0, 26.0]})
    assert Pair("a", "c") not in significant_pairs({**OLD, "c": [0.0, 40.0, 80.0]})
    assert significant_pairs({"a": [1.0, 2.0, 3.0]}) == set()


def margins_of(*rows):
    return Margins(np.var(rows, axis=1, ddof=1)[:, None], [len(row) for row in rows])


def test_the_margin_is_the_wider_one_of_welchs_and_of_the_pooled_t():
    uneven = [[1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 5.0, 2.0]]
    low, high = stats.ttest_ind(*uneven, equal_var=False).confidence_interval(0.95)
    assert margins_of(*uneven).between(0, 1)[0] == pytest.approx((high - low) / 2, rel=1e-3)
    narrow, wide = [[1.0, 1.1, 1.2]] * 2, [[0.0, 5.0, 10.0]] * 6
    pooled = np.sqrt(6 / 8 * 25 + 2 / 8 * 0.01)
    expected = stats.t.ppf(0.975, 16) * pooled * np.sqrt(2 / 3)
    assert margins_of(*narrow, *wide).between(0, 1)[0] == pytest.approx(expected, rel=1e-3)


def test_a_wide_spread_of_one_row_is_not_shared_with_the_others():
    """Student's t with one variance has p = .024 here, and ranks of three against three cannot go below .1."""
    found = compare({"none": [21.63, 22.7, 21.63], "full": [34.78, 34.58, 34.22], "s4d": [35.65, 38.2, 35.55]}, "full")
    assert significant([found]) == {"none"}
    assert found.differences["s4d"].low < 0 < found.differences["s4d"].high


def test_eight_seeds_tell_what_three_do_not():
    around_zero = np.array([-1.5, -0.9, -0.5, -0.1, 0.1, 0.5, 0.9, 1.5]) / 0.95
    rows = {"full": 0.28 * around_zero, "s4d": 1.51 + 1.21 * around_zero}
    assert stats.ttest_ind(*rows.values(), equal_var=False).pvalue == pytest.approx(0.01, abs=0.002)
    others = {"nystrom": 0.6 + 0.48 * around_zero, "none": 0.62 * around_zero - 12}
    seeds = {name: values.tolist() for name, values in (rows | others).items()}
    assert "s4d" in significant([compare(seeds, "full")])
    assert Pair("s4d", "full") in significant_pairs(seeds)
    three = {name: values[1::3] for name, values in seeds.items()}
    assert "s4d" not in significant([compare(three, "full")])


def test_one_row_of_a_very_wide_spread_hides_no_difference_between_the_others():
    """As on the short Pathfinder, where a seed of linear attention converges late."""
    steady = {f"m{place}": [92.6 + place / 4 + each for each in (-0.6, 0.1, 0.7)] for place in range(8)}
    rows = {"none": [85.9, 86.5, 87.0], "late": [67.5, 91.0, 92.3], **steady}
    assert significant([compare(rows, "none")]) == set(steady)
    assert "late" not in {name for pair in significant_pairs(rows) for name in pair}


def test_what_is_significant_has_an_interval_without_zero_and_a_p_value_of_5_percent_or_less():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = {str(row): rng.normal(rng.choice([0, 4]), 1, 3).tolist() for row in range(5)}
        found = compare(rows, "0")
        for name in found.p_values:
            assert (name in significant([found])) == (found.p_values[name] <= 0.05)
            if found.p_values[name] <= 0.05:
                assert found.differences[name].significant


def test_of_two_rows_alone_the_interval_says_what_the_rule_says():
    rng = np.random.default_rng(1)
    for _ in range(50):
        found = compare({"a": rng.normal(0, 1, 3).tolist(), "b": rng.normal(3, 2, 3).tolist()}, "a")
        assert found.differences["b"].significant == (significant([found]) == {"b"})


def test_a_verdict_does_not_depend_on_the_order_of_rows_nor_on_their_unit():
    rows = {"a": [1.0, 2.0, 2.5], "b": [5.0, 7.0, 6.0, 6.5], "c": [0.0, 4.0, 2.0], "d": [9.0, 9.5, 8.0, 8.5, 9.1]}
    found = compare(rows, "c")
    assert compare(dict(reversed(rows.items())), "c").p_values == pytest.approx(found.p_values)
    in_percent = {name: [100 * value for value in values] for name, values in rows.items()}
    assert compare(in_percent, "c").p_values == pytest.approx(found.p_values)


def test_more_rows_are_more_chances():
    two, four, many = (critical_value([3] * rows, has_baseline=True) for rows in (2, 4, 17))
    assert 1 < two < four < many < critical_value([3] * 17, has_baseline=False)


def test_p_values_have_a_floor():
    assert p_value(math.inf, [3, 3], has_baseline=True) == LEAST_P
    assert p_value(0.0, [3, 3], has_baseline=True) == 1


def test_rows_without_a_spread_are_compared():
    certain = compare({"a": [0.1] * 3, "b": [0.3] * 3, "c": [0.1] * 3}, "a")
    assert significant([certain]) == {"b"}
    assert certain.differences["b"].low == certain.differences["b"].high == pytest.approx(0.2)
    assert certain.effects == {}
    one = compare({"a": [1.0, 2.0, 3.0], "b": [9.0] * 3, "c": [2.0] * 3}, "a")
    assert significant([one]) == {"b"}
    assert significant_pairs({"a": [0.1] * 3, "b": [0.3] * 3}) == {Pair("b", "a")}


def test_the_rows_of_a_task_share_one_probability_whatever_their_baselines():
    clear, near = compare(OLD, "b"), compare({"a": [1.0, 2.0, 3.0], "b2": [4.3, 5.3, 6.3]}, "a")
    assert 0.025 < near.p_values["b2"] <= 0.05
    assert significant([near]) == {"b2"}
    assert significant([near, clear]) == {"a"}
