"""What `make renew` writes is current. Of what takes minutes this is a sample; the other tests compare all of it."""

import pytest

from tests.commands.errors import read_errors, said
from tests.golden.contents import GOLDEN, files
from tests.house.test_habits import commands_of
from tests.renew import PARTS, main, stale

QUICK = [name for name in files() if name.startswith("options/")] + ["cells/words.txt", "tables/short_machine.md"]
MISTAKES = read_errors()["nothing"][::30]


@pytest.mark.parametrize("name", QUICK)
def test_golden_files(name):
    assert files()[name]() == (GOLDEN / name).read_text(), stale("golden")


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row["type"])
def test_lines_of_mistakes(row, tmp_path):
    home = tmp_path / "home"
    found = said(row["type"], home, data=home / "data", run=tmp_path / "none")
    assert found == (row.get("code", 2), row["says"]), stale("errors")


def test_make_renews_all_or_some(capsys):
    assert commands_of("renew") == [".venv/bin/python -m tests.renew "]
    assert commands_of("renew", "ONLY=errors golden") == [".venv/bin/python -m tests.renew errors golden"]
    assert main(["tables"]) == 2
    said_instead = capsys.readouterr().err
    assert all(part in said_instead for part in PARTS)
