"""Texts that are quoted for Hydra come out of its parser as they went in."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from lra.settings.typed import in_quotes


@pytest.mark.parametrize(
    "text", ["plain", "a, [b] {c}", "it's", r"it\'s", "ends with \\", r"C:\folder\new", r"\\", "'", ""]
)
def test_a_text_comes_out_as_it_went_in(text):
    (parsed,) = OverridesParser.create().parse_overrides([f"key={in_quotes(text)}"])
    assert parsed.value() == text
