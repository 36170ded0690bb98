"""Durations are in the unit that suits them: none is 0.0 hours."""

import pytest

from lra.base.text import duration_text, time_text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.041, "0.041 s"), (0.4, "0.4 s"), (48.3, "48 s"), (62, "62 s"), (119.8, "120 s"), (150, "2 min"),
     (7100, "118 min"),     (7200, "2.0 hours"), (3600 * 1234.5, "1,234.5 hours")],
)  # fmt: skip
def test_a_duration_has_a_unit_that_suits_it(seconds, said):
    assert duration_text(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4.2, "4 s"), (48, "48 s"), (340, "6 min"), (350, "0.10 h"), (5400, "1.50 h"), (36_000, "10 h")],
)
def test_a_time_in_a_table_names_its_unit(seconds, said):
    assert time_text(seconds) == said
