"""The rule that calls differences significant."""

import pytest
from scipy import stats

from lra.results.significance import POOLED, RANKS, Pair, compare, significant, significant_pairs

OLD = {"a": [30.0, 31.0, 30.5], "b": [20.0, 21.0, 20.5], "c": [20.2, 20.8, 20.3]}


def test_pairs_that_differ_significantly_have_the_better_method_first():
    assert significant_pairs(OLD) == {Pair("a", "b"), Pair("a", "c")}
    assert not significant_pairs({"a": [20.0, 30.0, 25.0], "b": [21.0, 29.0, 26.0]})
    unequal = {**OLD, "c": [0.0, 40.0, 80.0]}  # by ranks, whose spread is less
    assert Pair("a", "c") not in significant_pairs(unequal)


def test_two_rows_have_the_t_test_and_of_other_variances_the_exact_test_of_ranks():
    alike = {"a": [30.0, 31.0, 30.5], "b": [31.0, 32.5, 32.0]}
    found, expected = compare(alike, "a"), stats.ttest_ind(alike["b"], alike["a"])
    assert (found.test, found.omnibus_p) == (POOLED, pytest.approx(expected.pvalue))
    assert found.p_values["b"] == found.omnibus_p
    apart = {"a": [30.0, 30.01, 30.02], "b": [40.0, 50.0, 60.0]}
    found = compare(apart, "a")
    assert (found.test, found.p_values["b"], found.effects) == (RANKS, pytest.approx(0.1), {})
    assert significant([found]) == set(), "three seeds each have no order that chance does not often bring"


def test_nothing_is_significant_where_the_omnibus_test_is_not():
    rows = {"a": [1.0, 2.0, 3.0], "b": [3.6, 4.5, 5.5]} | {f"r{place}": [2.0, 3.0, 4.0] for place in range(4)}
    found = compare(rows, "a")
    assert found.omnibus_p > 0.05 > found.p_values["b"]
    assert significant([found]) == set()


def test_the_rows_of_a_task_share_one_rate_whatever_their_baselines():
    clear, near = compare(OLD, "b"), compare({"a": [1.0, 2.0, 3.0], "b2": [3.4, 4.4, 5.4]}, "a")
    assert significant([near]) == {"b2"}
    assert significant([near, clear]) == {"a"}
