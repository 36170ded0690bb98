"""Under `paper` too, a batch in equal shares is the whole batch, if a share is what a batch-wide constant covers."""

import pytest

from lra.cli import main
from lra.training.curves import read_curves
from tests.conftest import lra

RUN = (
    "train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "protocol=paper", "callbacks.log_every_steps=1",
    "logger=csv", "recipe.optimizer.lr=1e-2",
)  # fmt: skip


def losses(runs):
    (path,) = runs.rglob("metrics.csv")
    return [row[key] for row in read_curves(path) for key in ("train/loss", "dev/loss", "test/loss") if key in row]


@pytest.mark.slow
def test_accumulated_parts_are_the_groups_of_the_whole_batch(home, tmp_path, monkeypatch):
    """With dropout, which each group draws for itself."""
    found = {}
    for parts, examples in ((1, 4), (2, 4), (1, "null")):
        monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / f"{parts} {examples}"))
        assert (
            main([*RUN, f"protocol.batch_constant_examples={examples}", f"trainer.accumulate_grad_batches={parts}"])
            == 0
        )
        found[parts, examples] = losses(tmp_path / f"{parts} {examples}")
    assert found[2, 4] == pytest.approx(found[1, 4], abs=2e-5)
    assert found[1, "null"] != pytest.approx(found[1, 4], abs=1e-4)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_processes_are_the_groups_of_the_whole_batch(data_dir, tmp_path):
    words = ("model.dropout=0", "protocol.batch_constant_examples=4")
    for name, trainer in (("one", "cpu"), ("two", "ddp")):
        done = lra(*RUN, *words, f"trainer={trainer}", data=data_dir, runs=tmp_path / name, OMP_NUM_THREADS="1")
        assert done.returncode == 0, done.stderr
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=2e-5)
