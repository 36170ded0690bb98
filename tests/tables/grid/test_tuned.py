"""`recipe=tuned`: each cell has the best configuration of its method, and its record says of which search."""

import json

import pytest

from lra.base.overrides import Overrides
from lra.cli import main
from lra.runs.record import validated
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, hashed_settings
from lra.tables.accuracy_table import accuracy_table
from lra.tables.comparison import contenders
from lra.tables.comparison_table import comparison_table
from lra.tables.grid.cell import make_cells, space_of
from lra.tables.grid.tuned import make_tuned_cells
from lra.types import UserError
from tests.tables.grid.trials import SPACE, WORDS, finish
from tests.tables.records import make_record, rows_by_name, with_setting

DEV = {"nystrom": (0.3, 0.4, 0.2), "full": (0.3, 0.2, 0.4)}
TUNED = {"space": "1a2b3c4d", "options": {"recipe.optimizer.lr": "interval(1e-4, 1e-2)"}, "seed": 1000}


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path / "runs"


def search(words=WORDS, budget=3, dev=DEV):
    cells = make_cells("tune", [*words, f"budget={budget}"])
    for cell in cells:
        finish(cell, dev[cell.choice("attention")][cell.trial], test=1 - dev[cell.choice("attention")][cell.trial])
    return cells


def tuned(*words, budget=3):
    return make_tuned_cells(
        "paper_table", Overrides([*WORDS, *words, "recipe=tuned", "search=tune", f"budget={budget}"])
    )


def test_each_method_has_its_best_point_with_every_seed_and_says_of_which_search():
    trials = search()
    cells = tuned("seed=0,1")
    assert [(cell.choice("attention"), cell.choice("seed")) for cell in cells] == [
        (method, seed) for seed in "01" for method in ("nystrom", "full")
    ]
    for cell in cells:
        best = next(
            trial
            for trial in trials
            if trial.choice("attention") == cell.choice("attention")
            and trial.trial == (1 if cell.choice("attention") == "nystrom" else 2)
        )
        wanted, said = hashed_settings(best.cfg), hashed_settings(cell.cfg)
        assert {key: value for key, value in said.items() if key != "tuned"} == wanted
        space = space_of("tune", SPACE)
        assert said["tuned"] == {
            "space": space.hash, "options": space.options, "seed": 1000, "budget": 3, "tried": 3,
        }  # fmt: skip
        validated(finish(cell, 0.5), "")


def test_a_run_without_a_search_has_the_hash_that_it_had():
    """That of the published record; a search is part of the hash, so that no run counts for another budget or space."""
    cfg = load_config("train", ["task=listops", "attention=nystrom"])
    assert "tuned" not in hashed_settings(cfg)
    search(budget=3)
    hashes = {config_hash(cell.cfg) for budget in (2, 3) for cell in tuned("seed=0", budget=budget)}
    assert len(hashes) == 4
    other = ["model.dropout=0.1"]  # another space, and trials of it
    search([*WORDS, *other])
    assert hashes.isdisjoint({config_hash(cell.cfg) for cell in tuned("seed=0", *other)})


def test_trials_that_have_not_ended_are_asked_for():
    search(budget=2)
    with pytest.raises(UserError) as caught:
        tuned("seed=0")
    error = caught.value
    assert (error.kind, error.key, error.value) == ("no_records", "recipe", "listops/nystrom")
    assert error.right == f"lra tune run {' '.join(WORDS)} budget=3"


def test_a_failed_trial_counts_and_a_method_with_no_other_is_refused():
    cells = search(budget=2)
    last = make_cells("tune", [*WORDS, "budget=3"])[4:]
    for cell in last:
        cell.run.fail("out of memory")
    assert {cell.cfg.tuned["tried"] for cell in tuned("seed=0")} == {3}
    for cell in cells[1::2]:
        (cell.run.folder / "result.json").unlink()
        cell.run.fail("the loss is nan")
    with pytest.raises(UserError) as caught:
        tuned("seed=0")
    assert (caught.value.kind, caught.value.value) == ("no_records", "listops/full")


def test_the_seed_of_the_trials_is_no_seed_of_a_table():
    search()
    with pytest.raises(UserError) as caught:
        tuned("seed=0,1000")
    assert (caught.value.key, caught.value.value) == ("seed", 1000)


def as_tuned(record, *, budget=20, tried=20, rate=1e-3, **search):
    record = with_setting(record, "recipe.optimizer.lr", rate)
    return with_setting(record, "tuned", {**TUNED, "budget": budget, "tried": tried, **search})


def test_runs_of_one_search_are_one_row_over_all_tasks_although_each_task_has_its_own_best_point():
    records = [
        as_tuned(make_record(task, method, seed=seed), rate=rate * factor)
        for task, rate in (("listops", 1e-3), ("text", 3e-4))
        for method, factor in (("nystrom", 1), ("full", 2))
        for seed in (0, 1)
    ]
    for record in records:
        validated(json.loads(json.dumps(record)), "")
    assert {name: len(members) for name, members in rows_by_name(records).items()} == {"full": 4, "nystrom": 4}


@pytest.mark.parametrize("other", [{"budget": 40, "tried": 40}, {"space": "5e6f7a8b"}])
def test_runs_of_another_budget_or_space_are_never_in_one_row(other):
    records = [as_tuned(make_record(seed=0)), as_tuned(make_record(seed=1), **other), make_record(seed=2)]
    rows = rows_by_name(records)
    assert [len(members) for members in rows.values()] == [1, 1, 1]
    assert "nystrom" in rows
    assert rows["nystrom"] == records[2:]


def test_two_points_of_one_search_are_never_averaged():
    """As of trials that were run again with other code."""
    records = [as_tuned(make_record(seed=seed), rate=rate) for seed, rate in ((0, 1e-3), (1, 2e-3))]
    assert [len(members) for members in rows_by_name(records).values()] == [1, 1]


def test_tables_have_the_number_of_configurations_where_there_was_a_search():
    plain, records = (
        make_record(seed=0),
        [as_tuned(make_record("listops", name, seed=0)) for name in ("nystrom", "full")],
    )
    table = accuracy_table([plain, *records], reference="paper")
    column = table.columns.index("configurations tried")
    assert {row[0].split(" (")[0]: row[column] for row in table.rows if "tuned" in row[0]} == {
        "nystrom": "20",
        "full": "20",
    }
    assert next(row for row in table.rows if row[0] == "nystrom")[column] == "–"
    assert "configurations tried" not in accuracy_table([plain], reference="paper").columns
    compared = comparison_table(records, contenders(records), title="")
    assert [row[compared.columns.index("configurations tried")] for row in compared.rows] == ["20", "20"]
    assert all("1a2b3c4d" in " ".join(each.notes) for each in (table, accuracy_table(records, reference="paper")))


@pytest.mark.parametrize("word", ["budget=3", "search=tune", "recipe.optimizer.lr=interval(1e-4, 1e-2)"])
def test_what_is_of_a_search_has_no_effect_on_a_table_without_one(word, refused):
    error = refused("table", "run", "size=tiny", "task=listops", "seed=0", word)
    assert (error.kind, error.key) == ("no_effect", word.split("=")[0])


def test_a_table_that_is_shown_takes_no_search(refused):
    assert refused("table", "show", "recipe=tuned", "size=tiny", "budget=3").key == "budget"


def test_show_needs_no_trials(capsys):
    assert main(["table", "show", "recipe=tuned", "task=listops", "size=tiny"]) == 0
    assert "No record yet" in capsys.readouterr().out
