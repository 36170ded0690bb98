"""What `make renew` writes is current. Of what takes minutes this is a sample; the other tests compare all of it."""

import pytest

from tests.commands.errors import read_errors
from tests.commands.test_errors import check_that_its_line_is_said_and_nothing_written
from tests.golden.test_golden import FILES, check_that_nothing_has_moved
from tests.house.test_habits import commands_of
from tests.renew import PARTS, main

QUICK = [name for name in FILES if name.startswith("options/")] + ["cells/words.txt", "tables/short_machine.md"]
MISTAKES = read_errors()["nothing"][::30]


@pytest.mark.parametrize("name", QUICK)
def test_golden_files(name):
    check_that_nothing_has_moved(name)


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row["type"])
def test_lines_of_mistakes(row, tmp_path):
    check_that_its_line_is_said_and_nothing_written(row, tmp_path)


def test_make_renews_all_or_some(capsys):
    assert commands_of("renew") == [".venv/bin/python -m tests.renew "]
    assert commands_of("renew", "ONLY=errors golden") == [".venv/bin/python -m tests.renew errors golden"]
    assert main(["tables"]) == 2
    said_instead = capsys.readouterr().err
    assert all(part in said_instead for part in PARTS)
