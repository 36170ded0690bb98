"""force=true with trainer=ddp: the old result is kept, one of two trains, and the new result is written."""

import json

import pytest

from lra.types import LOCKED
from tests.commands.test_force import contents, folders
from tests.conftest import lra
from tests.disturbance import disturbed

COMMAND = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer=ddp")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_at_once_train_once_and_lose_nothing(data_dir, tmp_path):
    runs = tmp_path / "runs"
    done = lra(*COMMAND, data=data_dir, runs=runs, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    run, _ = folders(runs)
    old = contents(run)
    words = (*COMMAND, "force=true")
    with (
        disturbed(*words, data=data_dir, runs=runs) as first,
        disturbed(*words, data=data_dir, runs=tmp_path / "other", LRA_RUNS_DIR=str(runs)) as second,
    ):
        codes = sorted(command.process.wait(240) for command in (first, second))
        said = [command.error() for command in (first, second)]
        assert codes == [0, LOCKED], said
        assert first.left() == second.left() == []
    again, (kept,) = folders(runs)
    assert again == run
    assert contents(kept) == old
    outcomes = [json.loads((folder / "result.json").read_text())["outcome"] for folder in (run, kept)]
    assert outcomes[0] == outcomes[1], "the same command"
