"""A run group may be called like a number or a word of YAML, and its folder is the one that was typed."""

import pytest

from tests.commands.test_cli import run

ONE = "size=tiny task=listops attention=full seed=0 "  # of a table's cells


@pytest.mark.slow
@pytest.mark.parametrize("group", ["2024", "007", "1e5", "true", "mine/first", "'Überblick 1'"])
def test_a_run_group_may_be_called_like_that(home, capsys, group):
    code, _, err = run(capsys, "table", "show", *ONE.split(), f"run_group={group}")
    assert code == 2, "nothing is there"
    assert str(home / group.strip("'")) in err


def test_a_group_that_looks_like_a_number_is_the_folder_that_was_typed(home, refused):
    (home / "2024").mkdir(parents=True)
    assert str(home / "2024") in str(refused("report", "run_group=2024"))
