"""A batch that does not fit into memory is split by itself; the run stays the same cell, and its record says so."""

import math

import pytest
import torch

from lra.cli import main
from lra.runs.record import read_record
from lra.settings.compose import load_config
from lra.tables.grid.estimate import measure_here
from lra.training.curves import read_curves
from lra.training.memory import in_fewest_parts
from lra.types import UserError

AUTO = "trainer.accumulate_grad_batches=auto"
RUN = (
    "train", "size=tiny", "attention=full", "recipe.steps=4", "recipe.eval_every=2", "model.num_layers=1", "logger=csv",
    "model.dropout=0", "attention.attention_dropout=0", "callbacks.log_every_steps=1",
)  # fmt: skip


def run_of(runs):
    (folder,) = (path.parent for path in runs.rglob("last.ckpt"))
    weights = torch.load(folder / "last.ckpt", weights_only=True)["state_dict"]
    return read_record(folder), weights, read_curves(folder / "metrics.csv"), folder


def train(runs, monkeypatch, *words):
    monkeypatch.setenv("LRA_RUNS_DIR", str(runs))
    assert main([*RUN, *words]) == 0
    return run_of(runs)


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_the_same_cell_in_parts(home, tmp_path, monkeypatch, request):
    whole, _, curve, _ = train(tmp_path / "whole", monkeypatch, AUTO)
    typed, same_parts, _, _ = train(tmp_path / "typed", monkeypatch, "trainer.accumulate_grad_batches=4")
    request.getfixturevalue("little_memory")
    record, weights, curve_in_parts, _ = train(tmp_path / "parts", monkeypatch, AUTO)

    assert (whole["cost"]["batch_parts"], record["cost"]["batch_parts"]) == (1, 4)
    assert record["provenance"]["config_hash"] == whole["provenance"]["config_hash"]
    assert record["settings"] == whole["settings"]
    assert record["settings"] != typed["settings"], "a typed number is a run of its own"
    assert all(weights[name].equal(same_parts[name]) for name in weights), "as if the number had been typed"
    for row, of_parts in zip(curve, curve_in_parts, strict=True):
        losses = [name for name in ("train/loss", "dev/loss", "test/loss") if name in row]
        assert losses
        assert [of_parts[name] for name in losses] == pytest.approx([row[name] for name in losses], rel=1e-5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_resumed_run_keeps_its_parts(little_memory, tmp_path, monkeypatch, refused, result_of):
    _, through, _, _ = train(tmp_path / "through", monkeypatch, AUTO)
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "resumed"))
    assert main([*RUN, AUTO, "trainer.max_steps=3"]) == 0
    error = refused(*RUN, "trainer.accumulate_grad_batches=1")
    assert (error.kind, error.key, error.value) == ("other_parts", "trainer.accumulate_grad_batches", 1)
    assert error.right == AUTO
    monkeypatch.setattr("lra.verbs.train_attempt.release_memory", lambda: pytest.fail("begun again"))
    record, weights, _, folder = train(tmp_path / "resumed", monkeypatch, AUTO)
    assert record["cost"]["batch_parts"] == 4
    assert all(weights[name].equal(through[name]) for name in weights)
    assert result_of("evaluate", f"run={folder}").is_as_recorded


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("trainer.accumulate_grad_batches=1",),
        ("attention=nystrom", AUTO),
        ("protocol.test_last_batch=dropped", AUTO),
    ],
    ids=["typed", "batch-wide constants", "a last batch that is dropped"],
)
def test_parts_that_would_be_another_run_are_only_proposed(little_memory, refused, words):
    run = [word for word in RUN if not (words[0] == "attention=nystrom" and "attention" in word)]
    error = refused(*run, *words)
    assert (error.kind, error.key) == ("no_memory", "trainer.accumulate_grad_batches")
    assert error.right == "trainer.accumulate_grad_batches=4"
    assert "\n" not in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_cuda_graphs_are_not_for_parts_and_what_is_proposed_instead_runs(little_memory, monkeypatch, refused, mode):
    monkeypatch.setattr("lra.training.compiled.compile_model", lambda model, mode: None)  # it would compile for minutes
    error = refused(*RUN, f"compile={mode}", AUTO)
    assert (error.kind, error.key) == ("no_memory", "trainer.accumulate_grad_batches")
    assert error.right == "trainer.accumulate_grad_batches=4 compile=true"
    assert "\n" not in str(error)
    assert main([*RUN, *error.right.split()]) == 0


@pytest.mark.slow
def test_batch_wide_constants_of_whole_groups_are_the_same(little_memory, result_of):
    run = [word for word in RUN if "attention" not in word]
    trained = result_of(*run, "attention=nystrom", "protocol.batch_constant_examples=2", AUTO)
    assert trained.record["cost"]["batch_parts"] == 4


@pytest.mark.slow
def test_a_plan_measures_the_parts_that_fit(little_memory):
    parts = measure_here(load_config("train", [*RUN[1:], AUTO]), seconds=math.inf)
    assert (parts.batch_size, parts.note) == (2, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("attention=nystrom",), ("protocol.test_last_batch=dropped",), ("trainer.devices=2", "trainer=ddp")]
)
def test_a_plan_has_no_hours_of_a_run_that_training_refuses(words, little_memory):
    run = [word for word in RUN[1:] if not (words[0] == "attention=nystrom" and "attention" in word)]
    with pytest.raises(UserError) as refused:
        measure_here(load_config("train", [*run, *words, AUTO]), seconds=math.inf)
    assert (refused.value.kind, refused.value.value) == ("other_run", 2)


@pytest.mark.slow
def test_parts_are_doubled_and_another_error_is_not_swallowed():
    tried = []

    def measure(parts):
        tried.append(parts)
        raise RuntimeError("CUDA out of memory" if parts < 12 else "shape")

    with pytest.raises(RuntimeError, match="shape"):
        in_fewest_parts(measure, 24, same=lambda parts: True)
    assert tried == [1, 2, 4, 8, 24]
    with pytest.raises(UserError) as refused:
        in_fewest_parts(measure, 6, same=lambda parts: True)
    assert refused.value.kind == "no_memory"
    with pytest.raises(UserError) as refused:
        in_fewest_parts(measure, 24, same=lambda parts: parts < 4)
    assert (refused.value.kind, refused.value.value) == ("other_run", 4)
