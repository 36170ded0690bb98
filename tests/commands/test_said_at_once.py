"""Mistakes that are refused in one line, at once, and without a trace."""

import os

import pytest

from lra.cli import main
from lra.training.curves import read_curves


@pytest.mark.parametrize(
    ("words", "kind", "key"),
    [
        (("train", "--nope"), "unknown_option", "--nope"),
        (("train", "--cfg", "jop"), "unknown_option", "--cfg jop"),
        (("train", "-m", "seed=0,1", "--nope"), "unknown_option", "--nope"),
        (("bench", "step", "what=x"), "no_effect", "what"),
        (("show", "model", "what=runs"), "no_effect", "what"),
        (("table", "show", "run_group=nope"), "no_records", "HERE/runs/nope"),
        (("evaluate", "run="), "empty", "run"),
        (("export", "run=HERE", "to="), "empty", "to"),
        (("compare", "show", "out="), "empty", "out"),
        (("import", "from="), "empty", "from"),
        (("train", "model.width=100000000"), "wrong_value", "model.width"),
        (("train", "model.num_layers=100000"), "wrong_value", "model.num_layers"),
        (("train", "recipe.batch_size=1000000"), "wrong_value", "recipe.batch_size"),
    ],
)
def test_one_line(words, kind, key, home, refused):
    error = refused(*(word.replace("HERE", str(home.parent)) for word in words))
    assert (error.kind, error.key) == (kind, key.replace("HERE", str(home.parent)))


def test_hyphens_of_wandbs_agents_get_the_override(refused):
    assert refused("train", "--task=text", "size=tiny").right == "task=text"


def test_a_folder_without_records_is_not_imported(home, tmp_path, refused):
    (tmp_path / "etc").mkdir()
    assert refused("import", str(tmp_path / "etc")).kind == "no_records"


def test_a_folder_of_hydras_is_not_made_for_a_refused_command(home, tmp_path, refused):
    refused("train", f"hydra.run.dir={tmp_path / 'x'}", "trainer.precision=16-mixed")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("words", [("show", "runs"), ("table", "show"), ("evaluate", "run=abcd"), ("report",)])
def test_a_folder_that_cannot_be_listed_is_named(words, home, monkeypatch, capsys):
    (home / "table/private").mkdir(parents=True)
    scandir = os.scandir

    def guarded(path="."):
        if os.fspath(path).endswith("private"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert main(words) == 2
    assert f"{home}/table/private" in capsys.readouterr().err


@pytest.mark.slow
def test_the_curves_of_a_run_with_a_stop_are_those_of_a_run_without(home):
    trial = ("train", "size=tiny", "recipe.steps=5", "recipe.eval_every=4", "attention=none", "logger=csv")
    words = (*trial, "callbacks.log_every_steps=2", "trainer.threads=1")
    assert main([*words, "run_group=whole"]) == 0
    assert main([*words, "trainer.max_steps=3"]) == 0
    assert main(words) == 0
    whole, stopped = (read_curves(next((home / group).rglob("metrics.csv"))) for group in ("whole", "default"))
    same = ("step", "train/loss", "train/accuracy", "learning_rate", "dev/loss", "dev/accuracy", "test/accuracy")
    assert [{key: row.get(key) for key in same} for row in stopped] == [
        {key: row.get(key) for key in same} for row in whole
    ]


@pytest.mark.slow
def test_a_loss_that_is_no_number_promises_no_checkpoint(home, refused):
    words = ("train", "size=tiny", "recipe.steps=4", "attention=none", "logger=csv", "recipe.optimizer.lr=1e30")
    line = str(refused(*words))
    assert ("checkpoint" in line) == any(home.rglob("last.ckpt"))
