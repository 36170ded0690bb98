"""`lra tune` as a user drives it; the training is a stand-in that writes a record, but in one slow test."""

import csv
import io
import json
from collections import Counter

import pytest

from lra.base.signals import Stopped
from lra.cli import main
from lra.tables.grid import runner
from lra.tables.grid.cell import make_cells
from lra.terminal.figure_file import Drawn
from tests.conftest import lra_here
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

    def train(cell):
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


def tune(capsys, *words):
    capsys.readouterr()
    code = main(["tune", *words, *WORDS, f"budget={BUDGET}"])
    out, err = capsys.readouterr()
    assert not err
    return code, out


def shown(capsys, *words) -> dict[str, dict[str, str]]:
    code, out = tune(capsys, "show", "format=csv", *words)
    assert code == 0
    return {row["attention"]: row for row in csv.DictReader(io.StringIO(out))}


def test_a_tune_tries_each_point_with_each_method_and_shows_the_best_by_dev_accuracy(trained, capsys):
    code, out = tune(capsys, "run")
    assert code == 0
    assert "8 of 8 cells finished" in out
    assert "4 of 4" in out
    assert trained == [(method, trial) for trial in range(BUDGET) for method in ("nystrom", "full")]
    rows = shown(capsys)
    cells = {(cell.choice("attention"), cell.trial): cell for cell in make_cells("tune", [*WORDS, "budget=4"])}
    for method, best in (
        ("nystrom", 42),
        ("full", 37),
    ):  # of equals the first; by test accuracy trial 3
        point = dict(word.split("=") for word in cells[method, 1].point)
        assert rows[method].items() >= {**point, "trial": "1", "tried": "4", "budget": "4", "failed": "0"}.items()
        assert float(rows[method]["best_dev_accuracy"]) == pytest.approx(best)


def test_the_same_command_goes_on_with_the_same_trials_after_a_kill(trained, capsys, monkeypatch):
    train = runner._train

    def killed(cell):
        if len(trained) == 3:
            raise Stopped(15)
        return train(cell)

    monkeypatch.setattr(runner, "_train", killed)
    assert main(["tune", "run", *WORDS, f"budget={BUDGET}"]) != 0
    assert len(trained) == 3
    monkeypatch.setattr(runner, "_train", train)
    assert "nystrom trials 2, 3; full trials 1, 2, 3" in tune(capsys, "show", "format=markdown")[1]
    assert tune(capsys, "run")[0] == 0
    assert trained == [(method, trial) for trial in range(BUDGET) for method in ("nystrom", "full")]


def test_a_larger_budget_goes_on_from_a_smaller_one(trained, capsys):
    assert main(["tune", "run", *WORDS, "budget=2"]) == 0
    assert tune(capsys, "run")[0] == 0
    assert Counter(trial for _, trial in trained) == dict.fromkeys(range(BUDGET), 2)


def test_a_published_search_is_shown_as_its_trials_are(trained, capsys):
    tune(capsys)
    assert main(["publish", "run_group=tune", "name=search", "dirty=true"]) == 0
    assert shown(capsys, "run_group=published/search.jsonl") == shown(capsys)


def test_only_runs_of_this_search_are_shown(trained, capsys):
    tune(capsys, "run")
    alone = tune(capsys, "show", "notes=all")[1]
    tune(capsys, "run", "recipe.steps=60")
    assert tune(capsys, "show", "notes=all")[1] == alone


def test_a_part_of_a_published_file_does_not_replace_its_figure(trained, home, monkeypatch, capsys):
    tune(capsys)
    assert main(["publish", "run_group=tune", "name=search", "dirty=true"]) == 0
    drawn = []
    monkeypatch.setattr(
        "lra.tables.verbs.tune.plot_tuning", lambda searches, path, **how: drawn.append(path) or Drawn(path, "")
    )
    tune(capsys, "show", "run_group=published/search.jsonl")
    assert drawn == [home / "published/search-tune-listops.png"]
    words = [word for word in WORDS if not word.startswith("attention=")]
    assert main(["tune", "show", "run_group=published/search.jsonl", *words, "attention=full"]) == 0
    assert "no figure of a part" in capsys.readouterr().out
    assert len(drawn) == 1


def test_a_trial_that_fails_counts_as_tried_is_said_and_is_not_met_again(trained, capsys):
    trained.fails = {("nystrom", 1), ("full", 0)}
    code, out = tune(capsys, "run")
    assert code == 0
    assert "nystrom trial 1 failed, which counts: the loss is nan at step 3" in out
    assert "not finished" not in out
    rows = shown(capsys)
    assert (rows["nystrom"]["trial"], rows["nystrom"]["tried"], rows["nystrom"]["failed"]) == ("2", "4", "1")
    assert (rows["full"]["trial"], rows["full"]["failed"]) == ("1", "1")
    assert tune(capsys, "run")[0] == 0
    assert Counter(trained) == dict.fromkeys(trained, 1), "no trial was run twice"
    failed = make_cells("tune", [*WORDS, "budget=2"])[2]
    assert (failed.choice("attention"), failed.trial) == ("nystrom", 1)
    assert failed.run.failure.error == "the loss is nan at step 3"
    (failed.run.folder / "failed.json").unlink()
    assert tune(capsys, "run")[0] == 0
    assert Counter(trained)["nystrom", 1] == 2


def test_a_method_of_which_every_trial_failed_has_no_best(trained, capsys):
    trained.fails = {("full", trial) for trial in range(BUDGET)}
    assert tune(capsys, "run")[0] == 0
    row = shown(capsys)["full"]
    assert (row["best_dev_accuracy"], row["trial"], row["failed"]) == ("", "", "4")


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
def test_trials_are_trained_by_two_workers_and_their_best_is_trained_with_the_seeds_of_a_table(data_dir, tmp_path):
    """One trial's rate is so large that its loss is NaN."""
    words = ["task=listops", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]
    words += ["attention=none", "recipe.optimizer.lr=tag(drawn, choice(1e-3, 1e30))", "recipe.warmup_fraction=0.2"]
    runs = {"data": data_dir, "runs": tmp_path / "runs"}
    done = lra_here("tune", "run", *words, "budget=3", "workers=2", "callbacks.log_every_steps=1", **runs)
    assert done.returncode == 0, done.stderr
    records = {path.parent: json.loads(path.read_text()) for path in (tmp_path / "runs/tune").rglob("result.json")}
    failed = list((tmp_path / "runs/tune").rglob("failed.json"))
    assert len(records) + len(failed) == 3
    assert records
    assert failed
    assert "3 of 3" in done.stdout
    assert (tmp_path / "runs/tune/tune-listops.svg").exists()
    tuned = lra_here(
        "table", "run", "recipe=tuned", *words, "budget=3", "seed=0", "callbacks.log_every_steps=1", **runs
    )
    assert tuned.returncode == 0, tuned.stderr
    assert "configurations tried" in tuned.stdout
    (path,) = (tmp_path / "runs/table_tuned").rglob("result.json")
    settings = json.loads(path.read_text())["settings"]
    assert (settings["tuned"]["budget"], settings["tuned"]["tried"], settings["tuned"]["seed"]) == (3, 3, 1000)
    del settings["tuned"]
    of_trials = [(each["outcome"]["best_dev_accuracy"], each["settings"]) for each in records.values()]
    assert settings in [each for accuracy, each in of_trials if accuracy == max(of_trials, key=lambda one: one[0])[0]]
