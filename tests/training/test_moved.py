"""A run goes on wherever its folder was moved to, with the best checkpoint it had; or says what is missing."""

import json
import shutil

import pytest
import torch

from lra.cli import main
from lra.training.checkpoints import NEXT_BEST, best_dev_pass
from tests.conftest import lra_here

# a rate that changes nothing: every dev pass is as good as the first, which is the one that must be tested
COMMAND = ("train", "size=tiny", "recipe.steps=6", "recipe.eval_every=2", "recipe.optimizer.lr=1e-9", "logger=csv")
COMMAND += ("model.num_layers=1",)


@pytest.fixture(scope="module")
def begun(data_dir, tmp_path_factory):
    """A folder of runs with one that has had two of its three dev passes."""
    runs = tmp_path_factory.mktemp("begun") / "runs"
    assert lra_here(*COMMAND, "trainer.max_steps=4", data=data_dir, runs=runs).returncode == 0
    return runs


@pytest.fixture
def stopped(begun, home):
    """The folder of a copy of that run."""
    shutil.copytree(begun, home)
    return next(home.rglob("last.ckpt")).parent


def outcome(runs):
    (path,) = runs.rglob("result.json")
    return json.loads(path.read_text())["outcome"]


@pytest.mark.slow
def test_a_moved_run_ends_as_an_undisturbed_one(stopped, home, tmp_path, monkeypatch):
    shutil.move(home, tmp_path / "moved")
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "moved"))
    assert main(COMMAND) == 0
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "whole"))
    assert main(COMMAND) == 0
    assert outcome(tmp_path / "moved") == outcome(tmp_path / "whole")
    assert outcome(tmp_path / "moved")["best_step"] == 2
    (record,) = (tmp_path / "moved").rglob("result.json")
    assert json.loads(record.read_text())["provenance"]["data_check"] == "structure"
    (best,) = (tmp_path / "moved").rglob("best.ckpt")
    assert torch.load(best, weights_only=True)["global_step"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("what", ["missing", "another run's", "damaged"])
def test_a_best_checkpoint_that_is_not_the_runs_stops_it_before_it_trains(stopped, capsys, what):
    path = stopped / "best.ckpt"
    if what == "missing":
        path.unlink()
    elif what == "damaged":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        torch.save({**torch.load(path, weights_only=True), "global_step": 3}, path)
    before = (stopped / "last.ckpt").read_bytes()
    assert main(COMMAND) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "best.ckpt is missing or not the one of step 2" in line
    assert "bring that file back" in line
    assert (stopped / "last.ckpt").read_bytes() == before


@pytest.mark.slow
def test_weights_that_had_not_taken_their_place_take_it(stopped):
    best = best_dev_pass(stopped)
    (stopped / "best.ckpt").rename(stopped / NEXT_BEST)
    (stopped / "best.ckpt").write_bytes(b"the one before")
    assert best_dev_pass(stopped) == best
    assert not (stopped / NEXT_BEST).exists()
