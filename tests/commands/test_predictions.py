"""predictions=N: test examples with their class and the guess of the run's best weights."""

import json

import pytest

from lra.cli import main

WORDS = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "recipe.batch_size=64", "logger=csv")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["listops", "image"])
def test_as_many_are_right_as_the_record_says(task, home, capsys):
    assert main(["train", *WORDS, f"task={task}", "predictions=64"]) == 0  # all of the test in one batch
    out = capsys.readouterr().out
    (path,) = home.rglob("result.json")
    accuracy = json.loads(path.read_text())["outcome"]["test_accuracy"]
    assert out.count("a test example: class") == 64
    assert out.count(", right") == round(64 * accuracy)
    assert main(["evaluate", f"run={path.parent}", "predictions=2"]) == 0
    again = capsys.readouterr().out
    first = out[out.index("a test example") :].splitlines()[0]
    assert first in again
    assert again.count("a test example: class") == 2


@pytest.mark.slow
def test_without_it_nothing_is_drawn(home, capsys):
    assert main(["train", *WORDS]) == 0
    assert "a test example" not in capsys.readouterr().out
