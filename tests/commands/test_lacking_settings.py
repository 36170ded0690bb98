"""A setting that only some choices of a sweep have: one line that says which lacks it, and what that one has."""

from __future__ import annotations

import pytest

from lra.cli_support.campaign import Campaign

SIZE = "size=tiny"


@pytest.mark.slow
def test_a_mixers_setting_may_stand_beside_an_attention_in_a_comparison():
    cells = Campaign("compare", [SIZE, "mixer=attention,s4d", "mixer.states=16", "seed=0", "attention=full"]).cells
    assert [cell.choice("attention") + cell.apart for cell in cells] == ["full", "s4d states=16"]
