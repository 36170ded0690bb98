"""A record names the code that trained the run, also if the checkout has changed since it began."""

import json

import pytest

from lra.cli import main
from lra.verbs import train_record as outcome

COMMAND = ("train", "size=tiny", "logger=csv", "recipe.steps=4", "recipe.eval_every=2", "attention=none")


def train(monkeypatch, commits, *words):
    monkeypatch.setattr(outcome, "git_commit", iter(commits).__next__)
    assert main([*COMMAND, *words]) == 0


def provenance(home):
    (path,) = home.rglob("result.json")
    return json.loads(path.read_text())["provenance"]


def test_the_commit_is_that_of_the_beginning(home, monkeypatch):
    train(monkeypatch, ["a" * 40, "b" * 40])
    assert provenance(home)["git_commit"] == "a" * 40
    assert "earlier_commits" not in provenance(home)


@pytest.mark.slow
def test_a_resumed_run_names_the_earlier_ones_too(home, monkeypatch):
    train(monkeypatch, ["a" * 40], "trainer.max_steps=2")
    train(monkeypatch, ["b" * 40])
    assert (provenance(home)["git_commit"], provenance(home)["earlier_commits"]) == ("b" * 40, ["a" * 40])


@pytest.mark.slow
def test_a_run_that_begins_again_and_one_of_the_same_code_name_one(home, monkeypatch):
    train(monkeypatch, ["a" * 40], "trainer.max_steps=2")
    train(monkeypatch, ["a" * 40])
    assert "earlier_commits" not in provenance(home)
    train(monkeypatch, ["c" * 40], "force=true")
    named = [json.loads(path.read_text())["provenance"]["git_commit"] for path in home.rglob("result.json")]
    assert sorted(named) == ["a" * 40, "c" * 40]
