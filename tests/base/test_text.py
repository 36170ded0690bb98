"""Durations are in the unit that suits them: none is 0.0 hours."""

import pytest

from lra.base.text import duration_text, hours_text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.041, "0.041 s"), (0.4, "0.4 s"), (48.3, "48 s"), (62, "62 s"), (119.8, "120 s"), (150, "2 min"),
     (7100, "118 min"),     (7200, "2.0 hours"), (3600 * 1234.5, "1,234.5 hours")],
)  # fmt: skip
def test_a_duration_has_a_unit_that_suits_it(seconds, said):
    assert duration_text(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(4.2, "4 s"), (48, "48 s"), (340, "6 min"), (350, "0.10"), (5400, "1.50"), (36_000, "10")]
)
def test_a_column_of_hours_names_another_unit(seconds, said):
    assert hours_text(seconds) == said
