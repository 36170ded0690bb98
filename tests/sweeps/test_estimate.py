"""What a run will cost: how much is measured, and what follows from it."""

from typing import NamedTuple

import pytest

from lra.settings.config import load_config
from lra.sweeps import estimate
from lra.sweeps.estimate import Estimate, _examples, _examples_in_time
from lra.timing import counting
from lra.timing import harness_step as bench
from lra.training import memory as training_memory


class Seconds(NamedTuple):
    """Those of a step."""

    total: float


def make_estimate(**changed) -> Estimate:
    whole = {
        "step_seconds": 2.0,
        "eval_seconds": 0.5,
        "peak_memory_bytes": 1e9,
        "dev_examples": 320,
        "test_examples": 640,
        "prepared": True,
        "measured_examples": 32,
        "batch_size": 32,
    }
    return Estimate(**{**whole, **changed})


@pytest.mark.parametrize(
    "words, dev, test",
    [
        (["task=listops"], 2000, 2000),
        (["task=text"], 25_000, 25_000),
        (["task=text", "protocol=clean"], 2500, 25_000),
        (["task=retrieval"], 18_090, 17_437),
        (["task=image"], 5000, 10_000),
        (["task=pathfinder"], 20_000, 20_000),
        (["task=pathx"], 2000, 2000),
    ],
)
def test_evaluated_examples_are_known_before_data_is_prepared(words, dev, test):
    assert _examples(load_config("train", words)) == (dev, test)


def test_seconds_are_those_of_steps_dev_passes_and_the_test():
    cfg = load_config("train", ["task=listops", "recipe.steps=100", "recipe.eval_every=50"])
    assert make_estimate().seconds(cfg) == 100 * 2.0 + 2 * 10 * 0.5 + 20 * 0.5
    assert make_estimate().seconds(cfg, done_steps=50) == 50 * 2.0 + 10 * 0.5 + 20 * 0.5


def test_a_batch_that_takes_too_long_is_measured_in_part():
    budget = estimate.SECONDS / (estimate.STEPS + 1)
    assert _examples_in_time(32, 4, budget / 8) == 32
    assert _examples_in_time(32, 4, budget / 7) == 16
    assert _examples_in_time(32, 4, 100.0) == 4, "never less than what has been tried"
    assert _examples_in_time(24, 3, budget / 3) == 6
    assert _examples_in_time(1, 1, 100.0) == 1


def test_a_part_of_a_batch_is_scaled_to_the_whole_step(data_dir, monkeypatch):
    """A batch of 32 in four parts; of a part of eight examples one is measured, in which a step takes 1,000 s."""
    clock, memory = iter([10.0, 13.0]), iter([100.0, 150.0])
    monkeypatch.setattr(bench, "bare_step", lambda _model, _optimizer, batch, _: Seconds(1000.0 * len(batch.tokens)))
    monkeypatch.setattr(counting, "synchronized_seconds", lambda _: next(clock))
    monkeypatch.setattr(training_memory, "peak_memory_bytes", lambda _: next(memory))
    words = ["task=listops", "size=tiny", "recipe.batch_size=32", "trainer.accumulate_grad_batches=4"]
    found = estimate.measure_here(load_config("train", words))
    assert (found.measured_examples, found.batch_size) == (1, 8)
    assert found.step_seconds == 1000 * 8 * 4
    assert found.eval_seconds == 3 * 8 * 4
    assert found.peak_memory_bytes == 100 + 50 * 8


def test_the_note_says_what_is_a_bound_and_what_was_scaled():
    assert make_estimate().note == ""
    assert make_estimate(prepared=False).note == "upper bound: data not prepared"
    assert make_estimate(measured_examples=4).note == "scaled from 4 of 32 examples"


@pytest.mark.slow
def test_the_flops_of_a_step_are_those_of_its_products_and_grow_with_the_batch():
    def counted(attention, batch):
        words = ["task=image", "size=tiny", f"attention={attention}", f"recipe.batch_size={batch}"]
        return estimate.count_step_flops(load_config("train", words))

    assert counted("none", 4) == 2 * counted("none", 2)
    cfg = load_config("train", ["task=image", "size=tiny"])
    length, width, layers = cfg.task.data.seq_len, cfg.model.width, cfg.model.num_layers
    products = 2 + 5  # of L × L × width in fused attention, forward and backward, which computes the scores again
    assert counted("full", 1) - counted("none", 1) == layers * products * 2 * length**2 * width
