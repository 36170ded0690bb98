"""`lra tune` as a user drives it; the training is a stand-in that writes a record, but in one slow test."""

import json
from collections import Counter

import pytest

from lra.base.signals import Stopped
from lra.cli import main
from lra.tables.cells import TRIED
from lra.tables.grid import runner
from lra.tables.grid.cell import make_cells
from lra.tables.grid.output import Tables
from lra.terminal.figure_file import Drawn
from tests.tables.grid.trials import WORDS, finish

BUDGET = 4
DEV = {0: 0.30, 1: 0.42, 2: 0.42, 3: 0.25}  # dev accuracy of each trial; those of full are 0.05 lower


def dev_accuracy(cell) -> float:
    return DEV[cell.trial] - 0.05 * (cell.choice("attention") == "full")


@pytest.fixture
def trained(home, monkeypatch):
    """The training of each trial, as (method, trial), in order; `trained.fails` are those that fail."""

    class Trained(list):
        fails: frozenset = frozenset()

    done = Trained()

    def train(cell, server):
        which = (cell.choice("attention"), cell.trial)
        done.append(which)
        if which in done.fails:
            return 2, "the loss is nan at step 3"
        finish(cell, dev_accuracy(cell), test=1 - dev_accuracy(cell))
        return 0, ""

    monkeypatch.setattr(runner, "_train", train)
    monkeypatch.setattr(
        "lra.tables.verbs.tune.plot_tuning", lambda searches, path, **how: Drawn(path, "")
    )  # drawing takes a second
    return done


@pytest.fixture
def tune(result_of, capsys):
    """Type the search, which must succeed without a warning: gives what the verb hands back."""

    def type_in(*words: str) -> Tables:
        capsys.readouterr()
        made = result_of("tune", *words, *WORDS, f"budget={BUDGET}")
        assert not capsys.readouterr().err
        return made

    return type_in


def rows_of(made: Tables) -> dict[str, dict]:
    """The numbers of each method's row."""
    (shown,) = made.tables
    return {row["attention"]: row for row in shown.table.csv_rows}


def test_a_tune_tries_each_point_with_each_method_and_shows_the_best_by_dev_accuracy(trained, tune, capsys):
    made = tune("run")
    assert (made.failed, made.run_set.finished, len(made.run_set.cells)) == (0, 8, 8)
    assert trained == [(method, trial) for trial in range(BUDGET) for method in ("nystrom", "full")]
    rows = rows_of(made)
    assert rows_of(tune("show")) == rows
    cells = {(cell.choice("attention"), cell.trial): cell for cell in make_cells("tune", [*WORDS, "budget=4"])}
    for method, best in (
        ("nystrom", 42),
        ("full", 37),
    ):  # of equals the first; by test accuracy trial 3
        point = dict(word.split("=") for word in cells[method, 1].point)
        assert rows[method].items() >= {**point, "trial": 1, "tried": 4, "budget": 4, "failed": 0}.items()
        assert rows[method]["best_dev_accuracy"] == pytest.approx(best)


def test_the_same_command_goes_on_with_the_same_trials_after_a_kill(trained, tune, monkeypatch):
    train = runner._train

    def killed(cell, server):
        if len(trained) == 3:
            raise Stopped(15)
        return train(cell, server)

    monkeypatch.setattr(runner, "_train", killed)
    assert main(["tune", "run", *WORDS, f"budget={BUDGET}"]) != 0
    assert len(trained) == 3
    monkeypatch.setattr(runner, "_train", train)
    (shown,) = tune("show", "format=markdown").tables
    unfinished = {method: [cell.trial for cell in cells] for method, cells in shown.unfinished.items()}
    assert unfinished == {"nystrom": [2, 3], "full": [1, 2, 3]}
    assert not tune("run").failed
    assert trained == [(method, trial) for trial in range(BUDGET) for method in ("nystrom", "full")]


def test_a_larger_budget_goes_on_from_a_smaller_one(trained, tune):
    assert main(["tune", "run", *WORDS, "budget=2"]) == 0
    assert not tune("run").failed
    assert Counter(trial for _, trial in trained) == dict.fromkeys(range(BUDGET), 2)


def test_a_published_search_is_shown_as_its_trials_are(trained, tune):
    tune()
    assert main(["publish", "run_group=tune", "name=search", "dirty=true"]) == 0
    assert rows_of(tune("show", "run_group=published/search.jsonl")) == rows_of(tune("show"))


def test_only_runs_of_this_search_are_shown(trained, tune):
    tune("run")
    alone = tune("show").tables
    tune("run", "recipe.steps=60")
    assert tune("show").tables == alone


def test_a_part_of_a_published_file_does_not_replace_its_figure(trained, home, monkeypatch, tune, result_of):
    tune()
    assert main(["publish", "run_group=tune", "name=search", "dirty=true"]) == 0
    drawn = []
    monkeypatch.setattr(
        "lra.tables.verbs.tune.plot_tuning", lambda searches, path, **how: drawn.append(path) or Drawn(path, "")
    )
    tune("show", "run_group=published/search.jsonl")
    assert drawn == [home / "published/search-tune-listops.png"]
    words = [word for word in WORDS if not word.startswith("attention=")]
    (part,) = result_of("tune", "show", "run_group=published/search.jsonl", *words, "attention=full").tables
    assert not part.figures
    assert any("search.jsonl" in line and "figure=FILE" in line for line in part.table.warnings)
    assert len(drawn) == 1


def test_a_trial_that_fails_counts_as_tried_is_said_and_is_not_met_again(trained, tune):
    trained.fails = {("nystrom", 1), ("full", 0)}
    made = tune("run")
    (shown,) = made.tables
    said = [note for note in shown.table.notes if note.endswith("the loss is nan at step 3")]
    assert [note.split()[:3] for note in said] == [["nystrom", "trial", "1"], ["full", "trial", "0"]]
    assert not made.failed, "a failed trial counts as tried"
    assert not shown.unfinished
    rows = rows_of(tune("show"))
    assert (rows["nystrom"]["trial"], rows["nystrom"]["tried"], rows["nystrom"]["failed"]) == (2, 4, 1)
    assert (rows["full"]["trial"], rows["full"]["failed"]) == (1, 1)
    assert not tune("run").failed
    assert Counter(trained) == dict.fromkeys(trained, 1), "no trial was run twice"
    failed = make_cells("tune", [*WORDS, "budget=2"])[2]
    assert (failed.choice("attention"), failed.trial) == ("nystrom", 1)
    assert failed.run.failure.error == "the loss is nan at step 3"
    (failed.run.folder / "failed.json").unlink()
    assert not tune("run").failed
    assert Counter(trained)["nystrom", 1] == 2


def test_a_method_of_which_every_trial_failed_has_no_best(trained, tune):
    trained.fails = {("full", trial) for trial in range(BUDGET)}
    row = rows_of(tune("run"))["full"]
    assert (row["best_dev_accuracy"], row["trial"], row["failed"]) == (None, None, 4)


@pytest.mark.some_fast(3)
@pytest.mark.parametrize(
    "words, key",
    [
        (["seed=0"], "seed"),
        (["sweep=compare"], "sweep"),
        (["task=text"], "protocol.text_dev"),
        (["recipe.optimizer.lr=tag(logarithmic, interval(1e-4, 1e-2))"], "recipe.optimizer.lr"),
        (["model.dropout=interval(0, 2)"], "model.dropout"),
        (["model.droput=interval(0, 0.2)"], "model.droput"),
        (["attention=full,nystrom", "attention.num_landmarks=int(interval(8, 64))"], "attention.num_landmarks"),
        (["budget=0"], "budget"),
        (["budget=2,4"], "budget"),
        (["run_group=published/search.jsonl"], "run_group"),
        (["recipe.optimizer.lr=interval(1e-4)"], "recipe.optimizer.lr"),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(words, key, trained, refused):
    assert refused("tune", "run", "size=tiny", "task=listops", *words).key == key
    assert not trained


@pytest.mark.slow
@pytest.mark.exhaustive
def test_trials_are_trained_by_two_workers_and_their_best_is_trained_with_the_seeds_of_a_table(home, result_of):
    """One trial's rate is so large that its loss is NaN."""
    words = ["task=listops", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]
    words += ["attention=none", "recipe.optimizer.lr=tag(drawn, choice(1e-3, 1e30))", "recipe.warmup_fraction=0.2"]
    done = result_of("tune", "run", *words, "budget=3", "workers=2", "callbacks.log_every_steps=1")
    records = {path.parent: json.loads(path.read_text()) for path in (home / "tune").rglob("result.json")}
    failed = list((home / "tune").rglob("failed.json"))
    assert len(records) + len(failed) == 3
    assert records
    assert failed
    assert all(cell.ended for cell in done.run_set.cells)
    assert not done.tables[0].unfinished
    assert (home / "tune/tune-listops.svg").exists()
    tuned = result_of("table", "run", "recipe=tuned", *words, "budget=3", "seed=0", "callbacks.log_every_steps=1")
    (row,) = (row for row in tuned.tables[0].table.csv_rows if row["count"])
    assert (row["count"], row["tried"]) == (1, 3)
    assert TRIED in tuned.tables[0].table.columns
    (path,) = (home / "table_tuned").rglob("result.json")
    settings = json.loads(path.read_text())["settings"]
    assert (settings["tuned"]["budget"], settings["tuned"]["tried"], settings["tuned"]["seed"]) == (3, 3, 1000)
    del settings["tuned"]
    of_trials = [(each["outcome"]["best_dev_accuracy"], each["settings"]) for each in records.values()]
    assert settings in [each for accuracy, each in of_trials if accuracy == max(of_trials, key=lambda one: one[0])[0]]
