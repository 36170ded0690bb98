"""Estimate the time and memory of a run from a few training steps, in bounded time.

A step of the whole batch is timed where that is possible in the time. Otherwise a part of the batch is: fewer examples,
and if not even one example of full length can be timed, shorter sequences. The time of the whole step follows from the
numbers of examples, and from counted work, which is a quadratic function of the length.
"""

import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from lra.from_config import build_datamodule, build_model, build_module, machine_and_loggers
from lra.from_config.store import is_prepared
from lra.settings.run_config import AUTO, RunConfig
from lra.types import Batch

STEPS = 3  # that are timed, where the time is enough
SECONDS = 12.0  # for the steps of a cell
FIRST_POSITIONS = 128  # of the first step, which is of one example
LENGTHS = 3  # at which work is counted: the measured length, its half and its quarter determine the quadratic function
RESERVE = 3.0  # a larger part is only tried if it could take this many times as long: counting and a dev batch follow


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Time and memory that a run needs on this machine: seconds of a training step, and of evaluating as many examples.

    `peak_memory_bytes` is of a process that does both, with dev batches of their own size. Where the task's data is
    not `prepared`, sequences of full length were measured, for an upper bound. Of the `batch_size` examples of
    `positions` each that a part of a batch has, `measured_examples` of `measured_positions` were.
    """

    step_seconds: float
    eval_seconds: float
    peak_memory_bytes: float
    dev_examples: int
    test_examples: int
    prepared: bool
    measured_examples: int
    batch_size: int
    measured_positions: int
    positions: int

    @property
    def note(self) -> str:
        """How the numbers differ from a measurement of whole steps on the task's own data; empty if they do not."""
        notes = [] if self.prepared else ["upper bound: data not prepared"]
        parts = {
            "examples": (self.measured_examples, self.batch_size),
            "positions": (self.measured_positions, self.positions),
        }
        shorter = [f"{part:,} of {whole:,} {what}" for what, (part, whole) in parts.items() if part < whole]
        how = "extrapolated" if self.measured_positions < self.positions else "scaled"
        notes += [f"{how} from {', '.join(shorter)}"] if shorter else []
        return "; ".join(notes)

    def seconds(self, cfg: RunConfig, *, done_steps: int = 0) -> float:
        """Estimate the seconds that a run still needs after `done_steps`: training, dev passes and the test.

        A step of a pretraining is taken to be as long as one after it.
        """
        recipe, pretraining = cfg.recipe, 0.0
        if cfg.is_pretrained and cfg.taken_from is None and not done_steps:
            first = cfg.pretrain
            batches = max(first.steps / first.eval_every, 1) * self.dev_examples / recipe.batch_size
            pretraining = first.steps * self.step_seconds + batches * self.eval_seconds
        fraction_left = 1 - done_steps / recipe.steps
        passes = fraction_left * max(recipe.steps / recipe.eval_every, 1)
        eval_batches = (passes * self.dev_examples + self.test_examples) / recipe.batch_size
        return float(pretraining + fraction_left * recipe.steps * self.step_seconds + eval_batches * self.eval_seconds)


def measure_here(cfg: RunConfig, *, seconds: float = SECONDS) -> Estimate:
    """Measure a few training steps and a dev batch in this process, in about `seconds`.

    With `trainer.accumulate_grad_batches=auto` the batch is in as few parts as fit into memory, as in a training.
    """
    from lra.training.memory import in_fewest_parts

    end = time.monotonic() + seconds
    if cfg.trainer.accumulate_grad_batches != AUTO:
        return _measure_in_parts(cfg, end)

    def measure(parts: int) -> Estimate:
        return _measure_in_parts(cfg.changed({"trainer.accumulate_grad_batches": parts}), end)

    def same(parts: int) -> bool:
        return machine_and_loggers.is_same_in_parts(cfg, build_model(cfg), parts)

    return in_fewest_parts(measure, cfg.recipe.batch_size, same=same)


def _measure_in_parts(cfg: RunConfig, end: float) -> Estimate:
    from lra.training.cost import harness_step
    from lra.training.cost.counting import count_work, synchronized_seconds
    from lra.training.machine import autocast_context, prepare_machine, to_weight_dtype
    from lra.training.memory import peak_memory_bytes

    machine = machine_and_loggers.build_machine(cfg)
    prepare_machine(machine)
    device, precision = machine.device, machine.precision
    module = to_weight_dtype(precision, build_module(cfg)).to(device).train()
    optimizer = module.make_optimizer()
    prepared = is_prepared(cfg)
    batches = batches_to_measure(cfg, device)
    if prepared:
        data = build_datamodule(cfg)
        dev_examples, test_examples = data.num_examples("dev"), data.num_examples("test")
    else:
        dev_examples, test_examples = _examples(cfg)
    first = next(batches)
    whole = Part(len(first.label), first.tokens.shape[-1])

    def step(part: Part) -> float:
        return harness_step.bare_step(module, optimizer, part.of(next(batches)), precision).total

    try:
        part = Part(1, min(FIRST_POSITIONS, whole.positions))
        step(part)  # warm-up: the first step is slower, because it allocates buffers and loads code
    except Exception:  # a model of one's own may take sequences of one length alone, and may raise anything
        if part.positions == whole.positions:
            raise
        part = Part(1, whole.positions)
        step(part)
    memory_of_weights = peak_memory_bytes(device)  # with gradients and the optimizer's state
    part, step_seconds = largest_part_in_time(step, part, whole, end)
    time_growth = 1.0
    if part.positions < whole.positions:
        lengths = [part.positions // 2**halvings for halvings in reversed(range(LENGTHS))]
        work = [count_work(partial(step, Part(1, length))).flops for length in lengths]
        time_growth = growth_of_work(lengths, work, whole.positions)
    memory_growth = whole.positions / part.positions  # layers keep their inputs
    scale, dev_size = whole.examples / part.examples, cfg.trainer.dev_batch_size
    if dev_size:
        of_dev = {"recipe.batch_size": dev_size, "trainer.accumulate_grad_batches": 1}
        batches = batches_to_measure(cfg.on_one_device().changed(of_dev), device)
    dev_part = Part(max(round((dev_size or whole.examples) / scale), 1), part.positions)
    dev_batch = dev_part.of(next(batches))
    begun = synchronized_seconds(device)
    with torch.inference_mode(), autocast_context(precision, device):
        module.eval()(dev_batch)
    eval_seconds = (synchronized_seconds(device) - begun) * time_growth
    return Estimate(
        step_seconds=step_seconds * time_growth * scale * cfg.batch_parts,
        eval_seconds=eval_seconds * cfg.recipe.batch_size / len(dev_batch.label),
        peak_memory_bytes=memory_of_weights
        + scale * memory_growth * max(peak_memory_bytes(device) - memory_of_weights, 0),
        dev_examples=dev_examples,
        test_examples=test_examples,
        prepared=prepared,
        measured_examples=part.examples,
        batch_size=whole.examples,
        measured_positions=part.positions,
        positions=whole.positions,
    )


@dataclass(frozen=True)
class Part:
    """The first examples of a batch, and the first positions of their sequences."""

    examples: int
    positions: int

    def of(self, batch: Batch) -> Batch:
        """Cut a batch."""
        tokens = batch.tokens[: self.examples, ..., : self.positions]
        valid = None if batch.valid is None else batch.valid[: self.examples, ..., : self.positions]
        return Batch(tokens, valid, batch.label[: self.examples])

    def doubled(self, whole: "Part") -> "Part | None":
        """The next larger part: sequences of twice the length, and from the whole length on twice the examples."""
        if self.positions < whole.positions:
            return Part(self.examples, min(2 * self.positions, whole.positions))
        if self.examples < whole.examples:
            return Part(min(2 * self.examples, whole.examples), self.positions)
        return None


def largest_part_in_time(
    step: Callable[[Part], float], part: Part, whole: Part, end: float, clock: Callable[[], float] = time.monotonic
) -> tuple[Part, float]:
    """Time steps of larger and larger parts of a batch, up to the whole one, while the time suffices.

    A part of twice the examples may take twice as long, one of twice the length four times. So the end may be exceeded
    by little. Returns the last part, and the median of the seconds of its steps: `STEPS`, or fewer if there is no time.
    """
    seconds = step(part)
    while (larger := part.doubled(whole)) is not None:
        growth = 2 if larger.examples > part.examples else 4
        if clock() + RESERVE * growth * seconds > end:
            break
        part, seconds = larger, step(larger)
    timed = [seconds]
    while len(timed) < STEPS and clock() + RESERVE * seconds <= end:
        timed.append(step(part))
    return part, statistics.median(timed)


def growth_of_work(lengths: Sequence[int], work: Sequence[float], length: int) -> float:
    """By what factor work is larger at `length` than at the last of three lengths, by the quadratic function of them.

    It is at least that of the line through the last two, and at most that of quadratic work: up to a window or a number
    of landmarks work may grow otherwise than beyond. Where nothing was counted, it is that of linear work.
    """
    times = length / lengths[-1]
    if not work[-1]:
        return times
    line, curve = (
        float(np.polyval(np.polyfit(lengths[-points:], work[-points:], points - 1), length)) for points in (2, 3)
    )
    return min(max(curve, line) / work[-1], times**2)


def batches_to_measure(cfg: RunConfig, device: torch.device) -> Iterator[Batch]:
    """Yield training batches of the task's own data, or batches of full length if it is not prepared."""
    from lra.from_config.step_flops import full_batch  # slow: Lightning, which a plan alone does without
    from lra.training.cost import harness_step

    if is_prepared(cfg):
        return harness_step.batches_of(build_datamodule(cfg), device)
    return itertools.repeat(full_batch(cfg, cfg.recipe.batch_size // cfg.batch_parts, device))


def _examples(cfg: RunConfig) -> tuple[int, int]:
    """Read the numbers of dev and test examples from the task's settings, before its data is prepared; 0 if unknown."""
    data = cfg.task.data
    tenth = data.get("images", 0) // 10  # size of the dev and test splits of a task whose images are split 80/10/10
    test = data.get("test", tenth)
    dev = {"own": data.get("dev", tenth), "test": test, "held_out": data.get("train", 0) // 10}
    return dev[cfg.task.dev_split], test


def print_as_child(measured: Callable[[], object]) -> int:
    """Print what a child process has measured as JSON, or the line of its error; return the exit code."""
    from lra.terminal.errors import explain

    try:
        print(json.dumps(measured()))
    except Exception as error:
        print(explain(error), file=sys.stderr)
        return 2
    return 0
