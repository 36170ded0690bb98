"""The hours and seconds that the documents give for short runs are those of the published plan and records."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from lra.cli import main
from lra.results.schema import Record
from lra.sweeps.estimate import Estimate
from lra.sweeps.grid import Cell, make_cells, spell_out_all
from tests.house.test_floors import ROOT
from tests.house.test_search import records

PUBLISHED = ROOT / "runs/published"
PLAN = PUBLISHED / "short_plan.json"
README = " ".join((ROOT / "README.md").read_text().split())
SHORT = ("size=short", "task=listops,text,image,pathfinder", "trainer.threads=1", "run_group=short")
ALL = (*SHORT, "attention=all")


@pytest.mark.parametrize(
    "words, cells, said",
    [
        (SHORT, 60, "# 60 short runs, {hours} hours of one core"),
        # Slow, because it composes the settings of 68 kinds of cells.
        pytest.param(ALL, 204, "without other work `lra table plan` estimates {hours}", marks=pytest.mark.slow),
    ],
    ids=("the paper's attentions", "all"),
)
def test_the_hours_of_a_short_table_are_those_of_its_plan(words, cells, said, home, monkeypatch, capsys):
    (home / "short").mkdir(parents=True)
    shutil.copy(PLAN, home / "short/plan.json")

    def measure_nothing(cell: Cell) -> Estimate:
        pytest.fail(f"the published plan has no estimate for {cell.name}")

    monkeypatch.setattr("lra.sweeps.estimate.is_prepared", lambda cfg: True)
    monkeypatch.setattr("lra.sweeps.estimate.measure", measure_nothing)
    assert main(["table", "plan", *words]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if " cells to run, " in line)
    count, hours = line.split()[0], line.split()[4]
    assert int(count) == cells
    assert said.format(hours=hours) in README


def listops_runs(name: str) -> dict[tuple[str, int], Record]:
    """The records of ListOps in a published file, by attention (or mixer) and seed."""
    return {
        (record["identity"]["attention"], record["identity"]["seed"]): record
        for record in records(name)
        if record["identity"]["task"] == "listops"
    }


def test_the_seconds_of_short_listops_are_of_runs_without_other_work():
    table, earlier = listops_runs("short_table"), listops_runs("short_earlier")
    again = {name: record for (name, seed), record in table.items() if seed == 0}
    assert earlier.keys() == {(name, 0) for name in again}
    for name, record in again.items():
        assert record["cost"]["train_seconds"] == min(table[name, seed]["cost"]["train_seconds"] for seed in range(3))
    assert len({record["provenance"]["git_commit"] for record in again.values()}) == 1

    known = json.loads(PLAN.read_text())
    ratios = []
    words = ["size=short", "task=listops", "attention=all", "seed=0", "trainer.threads=1"]
    for cell in make_cells("paper_table", spell_out_all("paper_table", words)):
        estimate = Estimate(**known[f"{cell.folder.parent.name}, cpu (1 threads), prepared"])
        training = replace(estimate, test_examples=0).seconds(cell.cfg)
        ratios.append(again[cell.choice("attention")]["cost"]["train_seconds"] / training)
    same = [name for name in again if _right(again[name]) == _right(earlier[name, 0])]
    apart = max(100 * abs(_accuracy(again[name]) - _accuracy(earlier[name, 0])) for name in again)
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    low, high = f"{min(ratios):.2f}".lstrip("0"), f"{max(ratios):.2f}"
    assert f"took {low} to {high} times as long as `lra table plan` estimates" in text
    assert f"In {len(same)} of the {len(again)} rows they have the same test examples right" in text
    assert f"are at most {apart:.2f} points apart".replace("0.", ".") in text


def _right(record: Record) -> str | None:
    return record["outcome"]["test_correct"]


def _accuracy(record: Record) -> float:
    return record["outcome"]["test_accuracy"]
