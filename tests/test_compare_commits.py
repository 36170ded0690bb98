"""The statistics of `python -m tests.compare_commits --speed`."""

import pytest

from tests.speed.commits import ratio_of


def test_each_turn_is_a_ratio_and_the_quartiles_are_over_turns():
    before = [1.0, 2.0, 4.0, 1.0]  # the machine was slow in the second and third turn, on both sides
    ratio = ratio_of(before, [1.1, 2.0, 4.8, 0.9])
    assert (ratio.lower, ratio.median, ratio.upper) == pytest.approx((0.975, 1.05, 1.125))
    assert str(ratio) == "1.050 [0.975, 1.125]"
    assert not ratio.is_slower
    assert ratio_of(before, [1.1, 2.1, 4.1, 1.1]).is_slower
    assert not ratio_of(before, before).is_slower
