"""The table of predictions in docs/performance.md is what the command prints."""

from __future__ import annotations

import re

import pytest

from lra.cli import main
from tests.house.test_floors import ROOT


def rows_of(text: str) -> dict[str, list[str]]:
    lines = re.findall(r"^\| *(\w+/\w+) *\|(.*)\|$", text, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in lines}


def predicted(capsys, *words: str) -> dict[str, list[str]]:
    assert main(["bench", "gpu", "predict=h100", "format=markdown", *words]) == 0
    return rows_of(capsys.readouterr().out)


TEXT = (ROOT / "docs/performance.md").read_text().split("## What an H100 step should take")[1]
DOCUMENTED = rows_of(TEXT)
COMMAND = [
    word
    for word in re.search(r"`lra bench gpu (predict=h100 [^`]+)`", TEXT)[1].split()
    if word.startswith(("attention=", "task="))
]


@pytest.mark.slow
def test_one_cell(home, capsys):
    (name,) = rows = predicted(capsys, "task=listops", "attention=full")
    assert rows[name] == DOCUMENTED[name]


@pytest.mark.slow
def test_every_cell(home, capsys):
    assert predicted(capsys, *COMMAND) == DOCUMENTED
