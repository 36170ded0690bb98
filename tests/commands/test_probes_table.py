"""`lra table run sweep=probes` as a user drives it: the search of the rate, then the seeds; training is a stand-in."""

import pytest

from lra.base.paths import conf_names
from lra.base.probes import probe_named
from lra.base.signals import Stopped
from lra.cli import main
from lra.settings.compose import sweep_params
from lra.settings.several_values import spell_out_all
from lra.tables.grid import runner
from lra.tables.grid.cell import make_cells
from tests.tables.grid.trials import finish

WORDS = ["sweep=probes", "task=recall,lag", "attention=linear,full", "size=tiny"]
BEST = {"recall": 1, "lag": 2}  # the trial with the highest dev accuracy


@pytest.fixture
def trained(home, monkeypatch):
    """The training of each cell, in order: the task, the method, and the trial or the seed."""
    done: list[tuple[str, str, str]] = []

    def train(cell, server):
        task, method = cell.choice("task"), cell.choice("attention")
        done.append((task, method, cell.which))
        finish(cell, 0.9 if cell.trial == BEST[task] else 0.5, test=0.8 if method == "full" else 0.4)
        return 0, ""

    monkeypatch.setattr(runner, "_train", train)
    return done


def searched(budget: int) -> set[tuple[str, str, str]]:
    return {
        (task, method, f"trial {trial}") for task in BEST for method in ("linear", "full") for trial in range(budget)
    }


SEEDS = {(task, method, f"seed {seed}") for task in BEST for method in ("linear", "full") for seed in range(3)}


@pytest.mark.slow
def test_the_rates_are_tried_first_and_the_seeds_have_each_methods_best(trained, home, result_of):
    assert main(["table", "run", *WORDS]) == 0
    budget = 3
    assert {*trained[: 4 * budget]} == searched(budget)
    assert {*trained[4 * budget :]} == SEEDS
    rows = result_of("table", "show", *WORDS, "format=csv").tables[0].table.csv_rows
    assert {(row["attention"], row["task"], row["count"], row["tried"]) for row in rows} == {
        (method, task, 3, budget) for method in ("linear", "full") for task in BEST
    }
    assert {(row["attention"], row["mean"]) for row in rows} == {("linear", 40), ("full", 80)}
    tried = make_cells("probes_rates", ["protocol=clean", *WORDS[1:], f"budget={budget}"])
    best = {(cell.choice("task"), cell.point) for cell in tried if cell.trial == BEST[cell.choice("task")]}
    assert len(best) == len(BEST)
    for task, (rate,) in best:
        records = [*(home / "probes" / task).glob("*/*/seed*/result.json")]
        assert len(records) == 6
        assert all(f'"lr": {rate.partition("=")[2]}' in path.read_text() for path in records)


@pytest.mark.slow
def test_after_a_kill_the_same_command_goes_on(trained, monkeypatch):
    train = runner._train

    def killed(cell, server):
        if len(trained) in (5, 14):
            raise Stopped(15)
        return train(cell, server)

    monkeypatch.setattr(runner, "_train", killed)
    assert main(["table", "run", *WORDS]) != 0
    assert len(trained) == 5
    trained.append(("killed", "", ""))
    assert main(["table", "run", *WORDS]) != 0
    trained.append(("killed", "", ""))
    assert main(["table", "run", *WORDS]) == 0
    trained = [each for each in trained if each[0] != "killed"]
    assert len(trained) == len({*trained}) == 12 + 12


@pytest.mark.slow
def test_the_plan_is_of_the_search_until_it_is_over(trained, result_of):
    words = ("sweep=probes", "task=recall", "attention=linear", "size=tiny", "recipe.steps=4")
    plan = result_of("table", "plan", *words)
    assert [cell.trial for cell in plan.run_set.cells] == [0, 1, 2]
    assert plan.run_set.group.name == "probes_rates"
    assert (plan.count_missing, plan.run_set.searched_for) == (3, "table")
    assert not trained
    assert main(["table", "run", *words]) == 0
    plan = result_of("table", "plan", *words)
    assert [cell.which for cell in plan.run_set.cells] == ["seed 0", "seed 1", "seed 2"]
    assert (plan.count_missing, plan.run_set.searched_for) == (0, None)


def test_another_recipe_is_not_searched(trained):
    assert main(["table", "run", *WORDS, "recipe=probe", "seed=0"]) == 0
    assert {which for _, _, which in trained} == {"seed 0"}


@pytest.mark.slow
def test_compare_takes_the_search_of_the_probes_too(trained, result_of):
    made = result_of("compare", "run", "sweep=probes", "task=recall", "attention=linear,full", "size=tiny", "budget=2")
    assert len(trained) == 4 + 6
    rows = made.tables[0].table.csv_rows
    assert [(row["attention"], row["count"], row["tried"]) for row in rows] == [("linear", 3, 2), ("full", 3, 2)]


@pytest.mark.slow
def test_another_search_that_is_typed_takes_the_place_of_the_probes(trained):
    words = ["sweep=probes", "task=recall", "attention=linear", "size=tiny", "search=tune", "budget=2"]
    assert main(["table", "run", *words]) == 0
    assert [which for _, _, which in trained] == ["trial 0", "trial 1", "seed 0", "seed 1", "seed 2"]


def test_without_a_method_every_attention_and_mixer_are_rows():
    words = spell_out_all("probes", ["task=recall", "seed=0"])
    methods = {word.partition("=")[0]: word.partition("=")[2].split(",") for word in words}
    assert methods["attention"] == conf_names("attention")
    assert methods["mixer"] == [name for name in conf_names("mixer") if name != "attention"]
    assert spell_out_all("probes", ["attention=nystrom"]) == ("attention=nystrom",)
    assert spell_out_all("probes", ["mixer=s4d"]) == ("mixer=s4d",)


def test_no_table_has_probes_and_the_benchmarks_tasks():
    probes = {name for name in conf_names("task") if probe_named(name)}
    (of_probes,) = spell_out_all("probes", ["task=all", "attention=full"])[1:]
    (of_table,) = spell_out_all("paper_table", ["task=all", "attention=full"])[1:]
    assert {*of_probes.removeprefix("task=").split(",")} == probes == {*sweep_params("probes")["task"].split(",")}
    assert not {*of_table.removeprefix("task=").split(",")} & probes


@pytest.mark.slow
def test_a_sweep_over_pairs_searches_a_rate_for_each_number_of_them(trained, home, result_of):
    words = ["attention=linear,full", "task.sizes.full.pairs=4,8", "task.sizes.full.keys=8", "recipe.steps=4"]
    plan = result_of("sweep", "capacity", "plan", *words)
    assert (plan.count_missing, plan.run_set.searched_for) == (2 * 2 * 3, "sweep capacity")
    assert plan.command.startswith("lra sweep capacity run attention=linear,full")
    made = result_of("sweep", "capacity", "run", *words)
    assert len(trained) == 2 * 2 * 3 + 2 * 2 * 3
    assert {(row["attention"], row["pairs"], row["count"], row["tried"]) for row in made.tables[0].table.csv_rows} == {
        (method, pairs, 3, 3) for method in ("linear", "full") for pairs in (4, 8)
    }
    assert [drawn.path for drawn in made.tables[0].figures] == [home / "capacity" / "capacity-recall.png"]
    more = ["attention=full", "task.sizes.full.pairs=2,4,8", *words[2:]]
    (shown,) = result_of("sweep", "capacity", "show", *more).tables
    assert [row[0] for row in shown.table.rows] == ["full"]
    assert [(name, len(lacks)) for name, lacks in shown.unfinished.items()] == [("full keys=8 pairs=2", 3)]
