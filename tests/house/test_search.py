"""The search over rates, warm-ups and steps in docs/numbers.md is its committed records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from scipy import stats

from lra.config import load_config
from lra.results.plateau import convergence_step
from lra.results.reference import PAPER
from lra.results.statistics import binomial_error
from tests.house.published import records
from tests.house.test_floors import ROOT


class Point(NamedTuple):
    """A learning rate (None: the chosen one), a warm-up, and the steps as a multiple of the chosen ones."""

    rate: float | None
    warmup: float = 0.1
    steps: float = 1.0


RATES = tuple(map(Point, (5e-4, 1e-3, 2e-3)))
SCHEDULES = (
    Point(None, warmup=0.05), Point(None), Point(None, warmup=0.2), Point(None, steps=0.5), Point(None, steps=2),
)  # fmt: skip
FILES = ("short_search", "short_table", "short_longer")  # the tables' own runs are those at the chosen rate


def rows(columns: Sequence[Point]) -> list[str]:
    """The lines of a table: best dev accuracies of seed 0 at points beside the chosen recipe, where all are there."""
    found: dict[tuple[str, str], dict[Point, str]] = {}
    for record in records(*FILES):
        identity, recipe = record["identity"], record["settings"]["recipe"]
        chosen = load_config("train", ["size=short", f"task={identity['task']}"]).recipe
        if identity["seed"] == 0:
            point = Point(recipe["optimizer"]["lr"], recipe["warmup_fraction"], recipe["steps"] / chosen.steps)
            same_rate = point.rate == chosen.optimizer.lr
            of_point = found.setdefault((identity["task"], identity["attention"]), {})
            accuracy = f"{100 * record['outcome']['best_dev_accuracy']:.2f}"
            of_point |= {point: accuracy} | ({point._replace(rate=None): accuracy} if same_rate else {})
    return [
        f"| {task} | {name} | {' | '.join(of[point] for point in columns)} |"
        for (task, name), of in found.items()
        if set(columns) <= of.keys()
    ]


@pytest.mark.parametrize("columns, least", [(RATES, 6), (SCHEDULES, 6)], ids=["rates", "warm-ups and steps"])
def test_each_row_is_its_records(columns, least):
    text = (ROOT / "docs/numbers.md").read_text()
    made = rows(columns)
    assert len(made) >= least
    for row in made:
        assert row in text
    first = made[0]
    assert text[text.rindex("\n\n", 0, text.index(first)) : text.index("\n\n", text.index(first))].count(
        "\n| "
    ) == 1 + len(made)


def test_what_is_said_of_warm_ups_and_steps():
    text = " ".join((ROOT / "docs/numbers.md").read_text().split())
    cells = [row.split("|")[1:-1] for row in rows(SCHEDULES)]
    moves, gains = [], {}
    for task, _, *numbers in cells:
        early, chosen, late, half, twice = map(float, numbers)
        moves += [abs(early - chosen), abs(late - chosen)]
        gains.setdefault(task.strip(), []).extend([chosen - half, twice - chosen])
    assert max(moves) <= 2
    assert "The warm-up moves no cell by more than two points" in text
    assert f"On Image every doubling of the steps gains {min(gains['image']):.0f} to {max(gains['image']):.0f}" in text
    assert max(gains["listops"][1::2]) <= 1
    assert "On ListOps runs of half the steps did not converge, and twice as many gain at most a point" in text
    assert max(gains["pathfinder"][1::2]) < 1.5


def test_full_attention_leaves_the_plateau_of_pathfinder_with_more_steps():
    found: dict[tuple[int, int], float] = {}
    for record in records(*FILES):
        identity, recipe = record["identity"], record["settings"]["recipe"]
        if (identity["task"], identity["attention"], recipe["optimizer"]["lr"]) == ("pathfinder", "full", 5e-4):
            found[recipe["steps"], identity["seed"]] = 100 * record["outcome"]["test_accuracy"]
    short, long = ([f"{found[steps, seed]:.1f}" for seed in range(3)] for steps in (1200, 2400))
    text = " ".join((ROOT / "docs/numbers.md").read_text().split())
    assert f"its test accuracies are {short[0]}, {short[1]} and {short[2]} %" in text
    assert f"With 2,400 steps they are {long[0]}, {long[1]} and {long[2]} %" in text
    sweep = " ".join((ROOT / "docs/results.md").read_text().split())
    assert f"which reach {long[1]} and {long[2]} % after twice the steps" in sweep


def test_landmarks_do_not_decide_on_short_listops():
    found = records("short_landmarks_listops")
    assert {record["identity"]["seed"] for record in found} == {0}
    by_count = {
        record["settings"]["attention"]["num_landmarks"]: record["outcome"]["test_accuracy"] for record in found
    }
    counts, ends = sorted(by_count), [f"{100 * end(by_count.values()):.1f}" for end in (min, max)]
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    said = f"{ends[0]} to {ends[1]} % with {', '.join(map(str, counts[:-1]))} and {counts[-1]} landmarks"
    assert said in text


def test_what_is_said_of_the_seeds_of_the_sweep():
    accuracies: dict[int | None, list[float]] = {}
    seconds: dict[int | None, dict[int, float]] = {}
    for record in records("short_landmarks"):
        count, seed = record["settings"]["attention"].get("num_landmarks"), record["identity"]["seed"]
        accuracies.setdefault(count, []).append(100 * record["outcome"]["test_accuracy"])
        seconds.setdefault(count, {})[seed] = record["cost"]["train_seconds"]
    exact, counts = accuracies.pop(None), (8, 16, 32, 64)
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    few, many = ((min(of), max(of)) for of in (accuracies[8], accuracies[64]))
    said = f"eight landmarks reach {few[0]:.0f} to {few[1]:.0f} %, 64 reach {many[0]:.0f} to {many[1]:.0f} %"
    assert said in text
    assert min(accuracy for count in counts for accuracy in accuracies[count]) > 90
    (late,) = (accuracy for accuracy in accuracies[128] if accuracy < 90)
    assert f"one of three with 128 landmarks is not ({late:.1f} %)" in text
    first, second = (accuracy for accuracy in exact if accuracy < 90)
    assert f"two of three with exact attention are not ({first:.1f} and {second:.1f} %)" in text
    of_exact = seconds.pop(None).values()
    assert f"the three seeds of exact attention differ by {100 * (max(of_exact) / min(of_exact) - 1):.0f} %" in text
    assert all(min(of, key=of.__getitem__) in (0, 1) for of in seconds.values())


def test_landmarks_do_not_decide_without_the_value_skip_either():
    found: dict[tuple[str, int, int], dict[int, float]] = {}
    for record in records("short_landmarks_no_skip"):
        attention, identity = record["settings"]["attention"], record["identity"]
        assert attention["value_skip_taps"] == 0
        cell = found.setdefault((identity["task"], attention["num_landmarks"], record["outcome"]["steps"]), {})
        cell[identity["seed"]] = 100 * record["outcome"]["test_accuracy"]
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    pathfinder = [found["pathfinder", count, 1200][0] for count in (8, 16, 64)]
    assert f"seed 0 on Pathfinder has {min(pathfinder):.1f} to {max(pathfinder):.1f} % with 8, 16 and 64" in text
    assert all(found["listops", count, 300][seed] < 20 for count in (8, 16, 64) for seed in (1, 2))


def test_landmarks_and_the_value_skip_move_the_convergence_step_on_listops():
    cells: dict[tuple[int, int], dict[int, tuple[float, int]]] = {}
    for record in records("short_landmarks_listops_600"):
        attention, step = record["settings"]["attention"], convergence_step(record)
        if attention["name"] == "nystrom":
            cell = cells.setdefault((attention["value_skip_taps"], attention["num_landmarks"]), {})
            cell[record["identity"]["seed"]] = (100 * record["outcome"]["test_accuracy"], step)
    runs = [run for cell in cells.values() for run in cell.values()]
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    accuracies = [accuracy for accuracy, _ in runs]
    said = f"All {len(runs)} runs of Nyström attention end between {min(accuracies):.1f} and {max(accuracies):.1f} %"
    assert said in text
    for taps, p, tau in ((35, "p = 0.56", "−0.40"), (0, "p = 0.13", "−0.70")):
        mine = {count: cell for (of, count), cell in sorted(cells.items()) if of == taps}
        differ = stats.kruskal(*([accuracy for accuracy, _ in cell.values()] for cell in mine.values()))
        assert f"p = {differ.pvalue:.2f}" == p
        counts, steps = zip(*((count, step) for count, cell in mine.items() for _, step in cell.values()), strict=True)
        falls = stats.kendalltau(counts, steps)
        assert f"{falls.statistic:.2f}".replace("-", "−") == tau
        assert falls.pvalue < 0.05
        assert p in text
        assert tau in text
    earlier = [cells[0, count][seed][1] - cells[35, count][seed][1] for of, count in cells if of for seed in range(3)]
    assert f"by {min(earlier)} to {max(earlier)} steps" in text
    assert f"({len(earlier)} of {len(earlier)} pairs" in text


def test_three_times_the_steps_do_not_help_on_text():
    longer, chosen = records("short_text_longer"), load_config("train", ["size=short", "task=text"]).recipe
    assert {record["outcome"]["steps"] for record in longer} == {3 * chosen.steps}
    found = {record["identity"]["attention"]: record["outcome"]["test_accuracy"] for record in longer}
    errors = [binomial_error(r["outcome"]["test_accuracy"], r["outcome"]["test_examples"]) for r in longer]
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    assert found.keys() == {"none", "nystrom"}
    assert f"seed 0 of Nyström attention has {100 * found['nystrom']:.2f} %" in text
    assert f"that of `none` {100 * found['none']:.2f} %" in text
    assert {f"{100 * error:.1f}" for error in errors} == {"0.7"}


def test_reviews_of_twice_the_length_do_not_help_either():
    longer = records("short_text_1000")
    assert {record["settings"]["task"]["data"]["max_length"] for record in longer} == {1000}
    found = {record["identity"]["attention"]: 100 * record["outcome"]["test_accuracy"] for record in longer}
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    assert found.keys() == {"linformer", "none", "nystrom"}
    said = "{nystrom:.2f} % with Nyström attention, {none:.2f} % with `none` and {linformer:.2f} % with Linformer"
    assert f"With the first 1,000 bytes seed 0 has {said.format(**found)}" in text


def test_in_the_papers_own_text_column_only_linformer_is_apart():
    column = {name: tasks["text"] for name, tasks in PAPER.items()}
    linformer = column.pop("linformer")
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    said = f"Linformer has {linformer:.2f} %, the other four attentions {min(column.values()):.2f} to"
    assert f"{said} {max(column.values()):.2f} %" in text


def test_the_other_seeds_of_full_attention_on_pathfinder_are_named():
    found = {
        record["identity"]["seed"]: f"{100 * record['outcome']['best_dev_accuracy']:.2f}"
        for record in records("short_search")
        if (record["identity"]["task"], record["identity"]["attention"]) == ("pathfinder", "full")
        and record["settings"]["recipe"]["optimizer"]["lr"] == 1e-3
    }
    text = " ".join((ROOT / "docs/numbers.md").read_text().split())
    assert f"(at 1e-3: {found[1]} and {found[2]} %, in the same file)" in text
