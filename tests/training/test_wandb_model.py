"""The best checkpoint as an artifact of the W&B run, when it is asked for; read back from the offline file."""

import json
from pathlib import Path

import pytest

from lra.base.files import sha256
from lra.cli import main
from tests.training.offline_run import offline_runs

TRAIN = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "model.num_layers=1")


@pytest.mark.slow
def test_the_best_checkpoint_is_an_artifact_with_the_results_numbers(home, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staged"))
    assert main([*TRAIN, "logger.wandb.log_model=true"]) == 0
    (offline,) = offline_runs(home)
    (artifact,) = offline.artifacts("model")
    assert artifact.name == f"model-{offline.run.run_id}"
    assert "best" in artifact.aliases
    (path,) = home.rglob("result.json")
    record, metadata = json.loads(path.read_text()), json.loads(artifact.metadata)
    assert metadata["task"] == "listops"
    assert metadata["outcome/test_accuracy"] == record["outcome"]["test_accuracy"]
    assert metadata["cost/parameters"] == record["cost"]["parameters"]
    (file,) = artifact.manifest.contents
    assert file.path == "best.ckpt"
    assert sha256(Path(file.local_path)) == sha256(path.parent / "best.ckpt")


@pytest.mark.slow
def test_without_being_asked_there_is_none(home):
    assert main(TRAIN) == 0
    (offline,) = offline_runs(home)
    assert offline.artifacts("run_table"), "the confusion matrix"
    assert offline.artifacts("model") == []
