"""A protocol is its switches, not its name: a renamed copy does the same, and may bring recipes of its own."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from lra.base.paths import conf_dir
from lra.cli import main
from tests.conftest import ROOT

TRAIN = ("train", "size=tiny", "task=listops", "logger=csv", "recipe.steps=4", "recipe.eval_every=2")
RECIPE = """\
defaults: [/recipe/base@_here_]

batch_size: 16
steps: 70
warmup_fraction: 0.5
eval_every: 30
"""


@pytest.fixture
def mine(tmp_path):
    """A conf folder with a copy of `paper` in it, called `mine`."""
    folder = tmp_path / "mine_conf"
    (folder / "protocol").mkdir(parents=True)
    text = (conf_dir() / "protocol/paper.yaml").read_text().replace("name: paper", "name: mine")
    (folder / "protocol/mine.yaml").write_text(text)
    return folder


@pytest.mark.slow
def test_a_renamed_copy_trains_to_the_same_numbers_and_is_evaluated(home, mine, result_of):
    assert main([*TRAIN, "protocol=paper"]) == 0
    assert main([*TRAIN, "protocol=mine", "--config-dir", str(mine)]) == 0
    records = {path: json.loads(path.read_text()) for path in home.rglob("result.json")}
    outcomes = {record["identity"]["protocol"]: record["outcome"] for record in records.values()}
    assert outcomes["mine"] == outcomes["paper"]
    (run,) = [path.parent for path, record in records.items() if record["identity"]["protocol"] == "mine"]
    assert result_of("evaluate", f"run={run}", "--config-dir", str(mine)).is_as_recorded


@pytest.mark.slow
@pytest.mark.parametrize("chosen, fewest", [("mine and independent_of_batch", 5), ("mine", 40)])
def test_the_tests_of_each_protocol_hold_for_a_renamed_copy(mine, tmp_path, chosen, fewest):
    tree = tmp_path / "tree"
    for folder in ("lra", "conf", "tests"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    shutil.copy(mine / "protocol/mine.yaml", tree / "conf/protocol")
    files = ["tests/attention/test_contract.py", "tests/model/test_packed.py", "tests/model/test_encoder.py"]
    words = ["-m", "pytest", "-p", "no:cacheprovider", *files, "-k", chosen, "-m", "some_fast or not slow"]
    env = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run([sys.executable, *words], cwd=tree, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.splitlines()[-1].split(" passed")[0]) >= fewest


def config_of(capsys, *words: str) -> list[str]:
    """The lines that `lra train … --cfg job` prints."""
    capsys.readouterr()
    assert main(["train", *words, "--cfg", "job"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
def test_a_protocol_may_bring_recipes_of_its_own(mine, capsys):
    file = mine / "protocol/mine.yaml"
    file.write_text("defaults:\n  - _self_\n  - override /recipe@_global_.recipe: mine/${task}\n\n" + file.read_text())
    (mine / "recipe/mine").mkdir(parents=True)
    (mine / "recipe/mine/listops.yaml").write_text(RECIPE)
    own = ("--config-dir", str(mine), "task=listops")
    assert {"  batch_size: 16", "  steps: 70", "    lr: 0.0001"} <= set(config_of(capsys, *own, "protocol=mine"))
    assert "  steps: 5000" in config_of(capsys, *own, "protocol=paper")
    assert "  steps: 35000" in config_of(capsys, *own, "protocol=mine", "recipe=image"), "what is typed counts"
    assert main(["train", *own, "protocol=mine", "task=text"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "recipe/mine/text" in line


@pytest.mark.slow
def test_a_protocols_folders_bring_recipes_models_and_options_of_a_mixer(mine, capsys):
    for folder in ("recipe/mine", "model/mine", "protocol/mine"):
        (mine / folder).mkdir(parents=True)
    (mine / "recipe/mine/listops.yaml").write_text(RECIPE)
    (mine / "model/mine/default.yaml").write_text("defaults: [/model/encoder@_here_]\n\nnum_layers: 5\n")
    (mine / "protocol/mine/s4d_listops.yaml").write_text("# @package _global_\nmixer: {states: 6}\n")
    own = ("--config-dir", str(mine), "task=listops", "mixer=s4d")
    found = set(config_of(capsys, *own, "protocol=mine"))
    assert {"  batch_size: 16", "  steps: 70", "  num_layers: 5", "  states: 6"} <= found
    assert {"  steps: 5000", "  num_layers: 2", "  states: 64"} <= set(config_of(capsys, *own, "protocol=paper"))
    typed = config_of(capsys, *own, "protocol=mine", "recipe=image", "model=encoder", "mixer.states=8")
    assert {"  steps: 35000", "  num_layers: 2", "  states: 8"} <= set(typed), "what is typed counts"
    (mine / "recipe/mine/listops_short.yaml").write_text(RECIPE.replace("70", "80"))
    (mine / "model/mine/listops_short.yaml").write_text("defaults: [/model/encoder@_here_]\n\nnum_layers: 3\n")
    short = set(config_of(capsys, *own, "protocol=mine", "size=short"))
    assert {"  steps: 80", "  num_layers: 3", "  states: 6"} <= short
    options = "# @package _global_\nmixer: {states: 10}\nrecipe: {optimizer: {lr: 0.5}}\n"
    (mine / "protocol/mine/s4d_listops_short.yaml").write_text(options)
    short = set(config_of(capsys, *own, "protocol=mine", "size=short"))
    assert {"  steps: 80", "  states: 10", "    lr: 0.5"} <= short
    typed = config_of(capsys, *own, "protocol=mine", "size=short", "recipe.optimizer.lr=0.25")
    assert "    lr: 0.25" in typed, "what is typed counts"
