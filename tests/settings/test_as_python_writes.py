"""Agents of a W&B sweep write values as Python does: `None`, and dictionaries with quotes."""

import pytest

from lra.cli import main

DICTIONARIES = ["{'steps': 4, 'optimizer': {'lr': 0.1}}", "{steps: 4, optimizer: {lr: 0.1}}"]


def printed(capsys, *words: str) -> str:
    assert main(["train", "--cfg", "job", *words]) == 0
    return capsys.readouterr().out


def test_none_is_null(capsys):
    words = ("trainer.threads=None", "experiment=None", "logger.wandb.entity=None")
    assert printed(capsys, *words) == printed(capsys, *(word.replace("None", "null") for word in words))


@pytest.mark.parametrize("word", ["run_group='None'", 'run_group="None"'])
def test_none_in_quotes_is_a_name(word, capsys):
    assert "run_group: None" in printed(capsys, word)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_a_dictionary_gets_the_overrides_that_say_the_same(dictionary, refused, capsys):
    error = refused("train", f"recipe={dictionary}")
    assert (error.kind, error.key) == ("wrong_value", "recipe")
    assert error.right == "recipe.steps=4 recipe.optimizer.lr=0.1"
    assert "steps: 4\n" in printed(capsys, *error.right.split())
