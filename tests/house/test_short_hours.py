"""The hours and seconds that the documents give for short runs are those of the published plan and records."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import pytest

from lra.cli import main
from lra.results.schema import Record
from lra.sweeps.estimate import Estimate
from lra.sweeps.grid import Cell, make_cells, spell_out_all
from tests.house.published import PUBLISHED, by_cell
from tests.house.test_floors import ROOT

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


TASKS = ("image", "listops", "pathfinder", "text")
OTHERS = [task for task in TASKS if task != "listops"]
"""The tasks whose seed 0 was trained on the slower machine."""
TABLE, EARLIER = by_cell("short_table"), by_cell("short_earlier")
RESULTS = " ".join((ROOT / "docs/results.md").read_text().split())


def names(task: str) -> list[str]:
    """The attentions and mixers whose seed 0 was trained again on a task."""
    return [name for of, name, seed in EARLIER if of == task and seed == 0]


def apart(task: str) -> list[tuple[float, str]]:
    """By how many points the accuracy of each row's seed 0 moved, in ascending order."""
    accuracies = {name: [_accuracy(of[task, name, 0]) for of in (EARLIER, TABLE)] for name in names(task)}
    return sorted((abs(now - before), name) for name, (before, now) in accuracies.items())


def fastest(task: str) -> list[int]:
    """The seed of each row that took the shortest time."""
    return [min(range(3), key=lambda seed: _seconds(TABLE[task, name, seed])) for name in names(task)]


@pytest.mark.parametrize("task", TASKS)
def test_seed_0_was_trained_again(task):
    again = {name: TABLE[of, name, seed] for of, name, seed in TABLE if (of, seed) == (task, 0)}
    assert {cell for cell in EARLIER if cell[0] == task} == {(task, name, 0) for name in again}
    assert len({record["provenance"]["git_commit"] for record in again.values()}) == 1
    same = [name for name in again if _right(again[name]) == _right(EARLIER[task, name, 0])]
    row = f"| {task} | {len(same)} of {len(again)} | {apart(task)[-1][0]:.2f} |"
    assert row in (ROOT / "docs/results.md").read_text(), row


def test_what_is_said_of_the_accuracy_that_moved_most():
    (others, _), (most, name) = apart("pathfinder")[-2:]
    before, now = (_accuracy(of["pathfinder", name, 0]) for of in (EARLIER, TABLE))
    assert name == "reformer"
    assert f"The {most:.2f} points are those of Reformer on Pathfinder" in RESULTS
    assert f"({before:.1f} % before, {now:.1f} % now)" in RESULTS
    assert f"All others are at most {others:.2f} points apart there".replace("0.", ".") in RESULTS


def beside_the_plan(task: str) -> list[float]:
    """For each row of a task: how many times as long as the published plan estimates seed 0 took."""
    known = json.loads(PLAN.read_text())
    ratios = []
    words = ["size=short", f"task={task}", "attention=all", "seed=0", "trainer.threads=1"]
    for cell in make_cells("paper_table", spell_out_all("paper_table", words)):
        estimate = Estimate(**known[f"{cell.folder.parent.name}, cpu (1 threads), prepared"])
        seconds = _seconds(TABLE[task, cell.choice("attention"), 0])
        ratios.append(seconds / replace(estimate, test_examples=0).seconds(cell.cfg))
    return ratios


def test_what_is_said_of_the_seconds():
    assert set(fastest("listops")) == {0}
    assert "The seconds are those of seed 0 of each row, trained [without other work" in RESULTS
    low, high = ends(beside_the_plan("listops"))
    assert f"took {low} to {high} times as long as `lra table plan` estimates" in RESULTS
    low, high = ends(chain.from_iterable(map(beside_the_plan, OTHERS)))
    assert f"the rows of the other tasks {low} to {high} times as long as the plan of the first machine" in RESULTS
    slower = by_cell("short_machine")
    assert len(slower) == 4
    low, high = ends(_seconds(record) / _seconds(TABLE[cell]) for cell, record in slower.items())
    assert f"four cells of ListOps took {low} to {high} times as long there" in RESULTS
    seeds = list(chain.from_iterable(map(fastest, OTHERS)))
    assert f"in {seeds.count(0)} of the {len(seeds)} rows of these three that is seed 0" in RESULTS


def ends(ratios: Iterable[float]) -> tuple[str, str]:
    """The lowest and the highest ratio as the documents write them."""
    found = sorted(ratios)
    return f"{found[0]:.2f}".removeprefix("0"), f"{found[-1]:.2f}".removeprefix("0")


def _right(record: Record) -> str | None:
    return record["outcome"]["test_correct"]


def _accuracy(record: Record) -> float:
    return 100 * record["outcome"]["test_accuracy"]


def _seconds(record: Record) -> float:
    return record["cost"]["train_seconds"]
