"""lra train onto a run whose result.json is broken: it stops and says what to type; that goes on to the same result."""

import json
import subprocess

import pytest

from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.which_run import run_dir

WORDS = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")


@pytest.mark.slow
def test_it_is_named_with_what_to_type(home, capsys):
    assert main(["train", *WORDS]) == 0
    path = run_dir(load_config("train", WORDS)) / "result.json"
    whole = json.loads(path.read_text())
    path.write_text(path.read_text()[:100])
    capsys.readouterr()
    assert main(["train", *WORDS]) == main(["train", *WORDS, "force=true"]) == 2
    line, with_force = capsys.readouterr().err.splitlines()
    assert line == with_force
    assert line.startswith(f"lra: {path} ")
    typed = line.split("move it away and run again: ")[1]
    assert typed == f"mv {path} {path}.broken-1"
    subprocess.run(typed, shell=True, check=True)
    assert main(["train", *WORDS]) == 0
    assert json.loads(path.read_text())["outcome"] == whole["outcome"]
