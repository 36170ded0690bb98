"""What a run will cost: how much is measured, and what follows from it."""

import math
from functools import partial
from itertools import islice
from typing import NamedTuple

import pytest
import torch

from lra import from_config
from lra.settings.compose import load_config
from lra.tables.grid import estimate
from lra.tables.grid.estimate import Estimate, Part, _examples, batches_to_measure, growth_of_work, largest_part_in_time
from lra.training import memory as training_memory
from lra.training.cost import counting, harness_step


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
        "measured_positions": 2048,
        "positions": 2048,
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


def test_steps_and_dev_passes_of_a_pretraining_are_counted_until_it_is_done():
    words = ["task=listops", "recipe.steps=100", "recipe.eval_every=50"]
    scratch, pretrained = (
        load_config("train", [*words, *more])
        for more in ([], ["pretrain=masked", "pretrain.steps=30", "pretrain.eval_every=10"])
    )
    estimated = make_estimate()
    assert estimated.seconds(pretrained) == estimated.seconds(scratch) + 30 * 2.0 + 3 * 10 * 0.5
    assert estimated.seconds(pretrained, done_steps=50) == estimated.seconds(scratch, done_steps=50)


WHOLE = Part(32, 1024)


class Machine:
    """Steps of so many seconds for each example and position, by a clock of its own."""

    def __init__(self, seconds_for_all: float):
        self.now, self.parts, self.rate = 0.0, [], seconds_for_all / (WHOLE.examples * WHOLE.positions)

    def step(self, part: Part) -> float:
        self.parts.append(part)
        seconds = self.rate * part.examples * part.positions
        self.now += seconds
        return seconds

    def measure(self, seconds: float) -> tuple[Part, float]:
        return largest_part_in_time(self.step, Part(1, 128), WHOLE, seconds, lambda: self.now)


@pytest.mark.parametrize("seconds_for_all", [0.001, 1.0, 60.0, 3600.0, 1e6])
def test_as_much_of_a_batch_is_measured_as_the_time_allows(seconds_for_all):
    machine = Machine(seconds_for_all)
    part, seconds = machine.measure(12.0)
    assert machine.now <= max(12.0, machine.rate * 128), "the first part is measured in any case"
    assert seconds == pytest.approx(machine.rate * part.examples * part.positions)
    assert (part == WHOLE) == (seconds_for_all <= 1)
    assert part.examples == 1 or part.positions == WHOLE.positions, "first longer sequences, then more of them"
    if part == WHOLE:
        assert machine.parts[-estimate.STEPS :] == [WHOLE] * estimate.STEPS


def test_without_a_bound_in_time_the_whole_batch_is_measured():
    machine = Machine(1e9)
    assert machine.measure(math.inf)[0] == WHOLE


def test_a_part_is_the_first_examples_and_positions_of_a_batch():
    whole = torch.arange(2 * 3 * 4).reshape(2, 3, 4)
    cut = Part(1, 2).of(harness_step.Batch(whole, whole > 0, torch.tensor([5, 6])))
    assert cut.tokens.tolist() == [[[0, 1], [4, 5], [8, 9]]]
    assert cut.valid.tolist() == [[[False, True], [True, True], [True, True]]]
    assert cut.label.tolist() == [5]


def test_work_grows_as_the_quadratic_function_through_what_was_counted():
    work = [3 * length**2 + 50 * length + 7 for length in (64, 128, 256)]
    assert growth_of_work((64, 128, 256), work, 4096) == pytest.approx((3 * 4096**2 + 50 * 4096 + 7) / work[-1])
    assert growth_of_work((64, 128, 256), [1.0, 1.0, 1.0], 1024) == pytest.approx(1)
    assert growth_of_work((64, 128, 256), [1.0, 4.0, 5.0], 1024) == pytest.approx(11 / 5), "beyond a window: linear"
    assert growth_of_work((64, 128, 256), [1.0, 10.0, 100.0], 1024) == 16, "at most quadratic"
    assert growth_of_work((64, 128, 256), [0, 0, 0], 1024) == 4, "no work that is counted"


def test_a_part_of_a_batch_is_scaled_to_the_whole_step(data_dir, monkeypatch):
    """A batch of 32 in four parts; of a part of eight examples one is measured, in which a step takes 1,000 s."""
    clock, memory = iter([10.0, 13.0]), iter([100.0, 150.0])
    monkeypatch.setattr(
        harness_step, "bare_step", lambda _model, _optimizer, batch, _: Seconds(1000.0 * len(batch.tokens))
    )
    monkeypatch.setattr(counting, "synchronized_seconds", lambda _: next(clock))
    monkeypatch.setattr(training_memory, "peak_memory_bytes", lambda _: next(memory))
    monkeypatch.setattr(estimate, "FIRST_POSITIONS", 256)
    words = ["task=listops", "size=tiny", "recipe.batch_size=32", "trainer.accumulate_grad_batches=4"]
    found = estimate.measure_here(load_config("train", words))
    assert (found.measured_examples, found.batch_size) == (1, 8)
    assert found.measured_positions == found.positions
    assert found.step_seconds == 1000 * 8 * 4
    assert found.eval_seconds == 3 * 8 * 4
    assert found.peak_memory_bytes == 100 + 50 * 8


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["full", "nystrom", "linformer", "none"])
def test_work_that_was_counted_on_short_sequences_says_what_long_ones_need(attention):
    cfg = load_config("train", ["task=image", "protocol=clean", f"attention={attention}", "recipe.batch_size=1"])
    module = from_config.build_module(cfg).train()
    optimizer, (batch,) = module.make_optimizer(), islice(batches_to_measure(cfg, torch.device("cpu")), 1)

    def flops(positions):
        step = partial(harness_step.bare_step, module, optimizer, Part(1, positions).of(batch))
        return counting.count_work(step).flops

    lengths = (128, 256, 512)
    growth = growth_of_work(lengths, [flops(length) for length in lengths], 1024)
    assert growth == pytest.approx(flops(1024) / flops(512), rel=0.05)


def test_of_sequences_that_take_too_long_the_first_positions_are_measured(home, monkeypatch):
    monkeypatch.setattr(estimate, "FIRST_POSITIONS", 64)
    cfg = load_config("train", ["task=listops", "size=tiny", "attention=none"])
    part, whole = (estimate.measure_here(cfg, seconds=seconds) for seconds in (0, math.inf))
    assert (part.measured_examples, part.measured_positions) == (1, 64)
    assert (whole.measured_examples, whole.measured_positions) == (cfg.recipe.batch_size, whole.positions)
    assert part.positions == whole.positions > 64


def test_the_note_says_what_is_a_bound_what_was_scaled_and_what_was_extrapolated():
    assert make_estimate().note == ""
    assert make_estimate(prepared=False).note == "upper bound: data not prepared"
    assert make_estimate(measured_examples=4).note == "scaled from 4 of 32 examples"
    part = make_estimate(measured_examples=1, measured_positions=256).note
    assert part == "extrapolated from 1 of 32 examples, 256 of 2,048 positions"
