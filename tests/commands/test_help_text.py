"""Help on a narrow terminal: every word is whole, in its order, and no line is too long."""

import pytest

from lra.base.verb_files import verb_module
from lra.cli import VERBS, usage, wrap_help

HELPS = {verb: verb_module(verb).__doc__.strip() for verb in VERBS}
HELPS["lra"] = usage()


@pytest.mark.parametrize("verb", HELPS)
def test_every_word_is_whole_and_in_its_order_and_the_lines_fit(verb):
    text = wrap_help(HELPS[verb], 80)
    assert text.split() == HELPS[verb].split()
    long = [line for line in text.splitlines() if len(line) > 80 and len(line.split()) > 1]
    assert long == []


def test_a_wide_terminal_changes_nothing():
    assert all(wrap_help(text, 120) == text for text in HELPS.values())


def test_what_is_said_beside_an_example_stays_in_its_column_or_goes_below():
    text = "  lra train   one two three four five six\n  lra train task=listops attention=nystrom   one two"
    assert wrap_help(text, 36).splitlines() == [
        "  lra train   one two three four",
        "              five six",
        "  lra train task=listops",
        "      attention=nystrom",
        "      one two",
    ]
