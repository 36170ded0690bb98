"""Two processes that train one model together: the same numbers as one, a record, and a resume."""

import json

import pytest
import torch

from lra.cli import main
from lra.data.loader import EvalLoader
from lra.runs.record import unpack_correct
from lra.training.curves import read_curves
from lra.training.ranks import interleave
from tests.conftest import lra, lra_here

RUN = (
    "train", "size=tiny", "recipe.steps=6", "recipe.eval_every=3", "protocol=clean", "callbacks.log_every_steps=1",
    "logger=csv",
)  # fmt: skip


def train(data_dir, runs, *words):
    done = lra(*RUN, *words, data=data_dir, runs=runs, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    return done


def read(runs, name):
    (path,) = runs.rglob(name)
    return json.loads(path.read_text()) if name.endswith("json") else read_curves(path)


@pytest.mark.slow
def test_two_processes_with_half_the_batch_have_the_losses_of_one(data_dir, tmp_path):
    """Without dropout and with per-example numerics, see the `clean` protocol."""
    train(data_dir, tmp_path / "one", "model.dropout=0")
    done = train(data_dir, tmp_path / "two", "model.dropout=0", "trainer=ddp")
    assert done.stdout.count("test accuracy") == 1, "one of them speaks"
    one, two = (read(tmp_path / name, "metrics.csv") for name in ("one", "two"))
    assert [row["step"] for row in one] == [row["step"] for row in two]
    for mine, other in zip(one, two, strict=True):
        for key in ("train/loss", "dev/loss", "test/loss", "train/accuracy", "dev/accuracy", "test/accuracy"):
            assert other.get(key) == pytest.approx(mine.get(key), abs=2e-6), (mine["step"], key)
    one, two = (read(tmp_path / name, "result.json") for name in ("one", "two"))
    assert one["outcome"]["test_correct"] == two["outcome"]["test_correct"], "in the split's order"
    assert one["outcome"]["confusion"] == two["outcome"]["confusion"]
    assert two["cost"]["device"].startswith("2 x cpu")
    assert one["provenance"]["config_hash"] != two["provenance"]["config_hash"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_stopped_run_of_two_processes_goes_on_to_the_same_numbers(data_dir, tmp_path):
    """With dropout: each process takes up its own random states."""
    train(data_dir, tmp_path / "whole", "trainer=ddp")
    train(data_dir, tmp_path / "parts", "trainer=ddp", "trainer.max_steps=4")
    train(data_dir, tmp_path / "parts", "trainer=ddp")
    whole, parts = (read(tmp_path / name, "metrics.csv") for name in ("whole", "parts"))
    assert [row.get("train/loss") for row in whole] == [row.get("train/loss") for row in parts]


@pytest.mark.slow
def test_correctness_and_confusion_are_those_of_the_test(data_dir, tmp_path):
    assert lra_here(*RUN, data=data_dir, runs=tmp_path / "one").returncode == 0
    outcome = read(tmp_path / "one", "result.json")["outcome"]
    correct = unpack_correct(outcome["test_correct"], outcome["test_examples"])
    assert correct.mean() == pytest.approx(outcome["test_accuracy"])
    confusion = torch.tensor(outcome["confusion"])
    assert confusion.sum() == outcome["test_examples"]
    assert confusion.trace() == correct.sum()


def test_batches_of_several_processes_are_the_batches_of_one():
    class Collate:
        split = range(23)
        device = torch.device("cpu")

        def __call__(self, indices):
            return torch.as_tensor(indices)

    def loader(**place):
        return EvalLoader(Collate(), batch_size=4, **place)

    whole = [batch.tolist() for batch in loader()]
    for world_size in (2, 3, 7):
        parts = [list(loader(rank=rank, world_size=world_size)) for rank in range(world_size)]
        assert [len(part) for part in parts] == [len(loader(rank=r, world_size=world_size)) for r in range(world_size)]
        assert [batch.tolist() for batch in interleave(parts)] == whole


@pytest.mark.slow
def test_devices_that_do_not_divide_the_batch_are_refused(data_dir, tmp_path):
    done = lra_here(*RUN, "trainer=ddp", "trainer.devices=3", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "lra: trainer.devices=3 does not divide recipe.batch_size=8; type trainer.devices=1"
    ]


@pytest.mark.slow
def test_more_devices_than_batches_of_a_split_are_refused(data_dir, tmp_path):
    words = (*RUN, "trainer=ddp", "trainer.devices=2", "recipe.batch_size=64")
    done = lra_here(*words, data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "lra: trainer.devices=2, but the dev or the test split has only 1 batches, so a device would"
        " have none; type trainer.devices=1"
    ]


@pytest.mark.slow
def test_the_processes_of_a_trial_of_a_search_train_that_trial_alone(home, data_dir, monkeypatch):
    told = []
    monkeypatch.setattr("lra.verbs.train_attempt.spawn_ranks", lambda devices, words: told.append(words) or (0, ""))
    main(["train", "-m", "size=tiny", "seed=0,1", "trainer=ddp", "logger=csv", "attention=none"])
    assert [("hydra.mode=RUN" in words, [word for word in words if "seed" in word]) for words in told] == [
        (True, ["seed=0"]),
        (True, ["seed=1"]),
    ]
