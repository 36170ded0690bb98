"""A run that an agent of a W&B sweep starts; read back from its offline file."""

import json

import pytest
import yaml

from lra.base.paths import conf_dir
from lra.cli import main
from tests.training.offline_run import offline_runs

PARAMETERS = {"task": "listops", "attention": "full", "seed": 1}
TRIAL = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "model.num_layers=1")


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """The environment in which `wandb agent` starts a command: see `Agent._command_run` in wandb/wandb_agent.py."""
    wandb = pytest.importorskip("wandb")
    path = tmp_path / "config-ag3ntrun.yaml"
    path.write_text(yaml.safe_dump({"wandb_version": 1, **{key: {"value": v} for key, v in PARAMETERS.items()}}))
    monkeypatch.setenv("WANDB_SWEEP_ID", "sw33p")
    monkeypatch.setenv("WANDB_SWEEP_PARAM_PATH", str(path))
    monkeypatch.setenv("WANDB_RUN_ID", "ag3ntrun")
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    wandb.teardown()  # W&B reads its environment once in a process
    yield
    monkeypatch.undo()
    wandb.teardown()


@pytest.mark.slow
def test_an_agents_run_keeps_the_settings_beside_the_swept_words(home, agent, capsys):
    command = yaml.safe_load((conf_dir() / "wandb_sweep.yaml").read_text())["command"]
    words = [word for word in command if not word.startswith("$") and word != "logger.wandb.mode=online"]
    assert main([*words, *(f"{key}={value}" for key, value in PARAMETERS.items()), *TRIAL]) == 0
    assert "wandb" not in capsys.readouterr().err
    (offline,) = offline_runs(home)
    assert (offline.run.run_id, offline.run.sweep_id, offline.run.project) == ("ag3ntrun", "sw33p", "theirs")
    assert offline.run.display_name == "listops/full/1"
    assert PARAMETERS.items() <= offline.config.items()
    settings = offline.config["config"]
    assert settings["attention"]["_target_"] == "lra.attention.full.FullAttention"
    assert settings["task"]["spec"]["num_classes"] == 10
    assert settings["recipe"]["steps"] == 2
    (record,) = home.rglob("result.json")
    assert json.loads(record.read_text())["provenance"]["wandb_id"] == "ag3ntrun"
    assert next(home.rglob("wandb_id")).read_text() == "ag3ntrun"
