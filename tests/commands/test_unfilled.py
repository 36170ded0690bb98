"""A `…` of a documented command that is typed as it stands."""

from __future__ import annotations

import pytest

from lra.cli import main


@pytest.mark.parametrize(
    "words", [["evaluate", "run=runs/default/majority/window/…/seed0"], ["train", "task=…"], ["table", "task=…"]]
)
def test_what_stands_for_something_else_is_one_line(words, home, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert f"{words[1]}: … stands for what you fill in; lra show runs lists the runs\n" in err
    assert err.count("\n") == 1
