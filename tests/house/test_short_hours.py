"""The hours and seconds that the documents give for short runs are those of the published plan and records."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
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


AGAIN = ("image", "listops", "pathfinder")
"""The tasks whose seed 0 was trained again without other work on the machine."""


def runs(name: str, task: str) -> dict[tuple[str, int], Record]:
    """The records of a task in a published file, by attention (or mixer) and seed."""
    return {
        (record["identity"]["attention"], record["identity"]["seed"]): record
        for record in records(name)
        if record["identity"]["task"] == task
    }


@pytest.mark.parametrize("task", AGAIN)
def test_seed_0_was_trained_again(task):
    table, earlier = runs("short_table", task), runs("short_earlier", task)
    again = {name: record for (name, seed), record in table.items() if seed == 0}
    assert earlier.keys() == {(name, 0) for name in again}
    assert len({record["provenance"]["git_commit"] for record in again.values()}) == 1
    same = [name for name in again if _right(again[name]) == _right(earlier[name, 0])]
    apart = max(100 * abs(_accuracy(again[name]) - _accuracy(earlier[name, 0])) for name in again)
    row = f"| {task} | {len(same)} of {len(again)} | {apart:.2f} |"
    assert row in (ROOT / "docs/results.md").read_text(), row


def test_what_is_said_of_the_accuracy_that_moved_most():
    table, earlier = runs("short_table", "pathfinder"), runs("short_earlier", "pathfinder")
    before, now = ({cell: 100 * _accuracy(of[cell]) for cell in earlier} for of in (earlier, table))
    apart = sorted((abs(now[cell] - before[cell]), cell) for cell in earlier)
    (most, cell), (others, _) = apart[-1], apart[-2]
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    assert cell == ("reformer", 0)
    assert f"The {most:.2f} points are those of Reformer on Pathfinder" in text
    assert f"({before[cell]:.1f} % before, {now[cell]:.1f} % now)" in text
    assert f"All others are at most {others:.2f} points apart there".replace("0.", ".") in text


def beside_the_plan(task: str) -> list[float]:
    """For each row of a task: how many times as long as the published plan estimates seed 0 took."""
    table, known = runs("short_table", task), json.loads(PLAN.read_text())
    ratios = []
    words = ["size=short", f"task={task}", "attention=all", "seed=0", "trainer.threads=1"]
    for cell in make_cells("paper_table", spell_out_all("paper_table", words)):
        estimate = Estimate(**known[f"{cell.folder.parent.name}, cpu (1 threads), prepared"])
        seconds = table[cell.choice("attention"), 0]["cost"]["train_seconds"]
        ratios.append(seconds / replace(estimate, test_examples=0).seconds(cell.cfg))
    return ratios


def test_what_is_said_of_the_seconds():
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    low, high = ends(beside_the_plan("listops"))
    assert f"took {low} to {high} times as long as `lra table plan` estimates" in text
    low, high = ends(beside_the_plan("image") + beside_the_plan("pathfinder"))
    assert f"the rows of Image and Pathfinder {low} to {high} times as long as the plan of the first machine" in text
    table, slower = runs("short_table", "listops"), runs("short_machine", "listops")
    low, high = ends(
        record["cost"]["train_seconds"] / table[cell]["cost"]["train_seconds"] for cell, record in slower.items()
    )
    assert f"four cells of ListOps took {low} to {high} times as long there" in text
    assert len(slower) == 4
    fastest = [
        min(range(3), key=lambda seed: of[name, seed]["cost"]["train_seconds"])
        for task in ("image", "pathfinder")
        for of in (runs("short_table", task),)
        for name in {name for name, _ in of}
    ]
    assert f"in {fastest.count(0)} of these {len(fastest)} rows that is seed 0" in text


def ends(ratios: Iterable[float]) -> tuple[str, str]:
    """The lowest and the highest ratio as the documents write them."""
    found = sorted(ratios)
    return f"{found[0]:.2f}".removeprefix("0"), f"{found[-1]:.2f}".removeprefix("0")


def _right(record: Record) -> str | None:
    return record["outcome"]["test_correct"]


def _accuracy(record: Record) -> float:
    return record["outcome"]["test_accuracy"]
