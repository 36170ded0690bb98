"""Estimate the time and memory of a cell from a few of its steps, measured in a child process."""

import itertools
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import torch
from omegaconf import DictConfig

from lra import build
from lra.base.processes import Child, python_module
from lra.build import trainer as build_trainer
from lra.build.store import is_prepared
from lra.settings import config
from lra.sweeps.grid import Cell
from lra.types import Batch, UserError

STEPS = 3
SECONDS = 12.0  # for the steps of a cell, so that all 25 kinds of the paper's table take less than ten minutes
CHILD_SECONDS = 120.0  # after this time a cell counts as one that cannot be measured
PROBE = 8  # 1/PROBE of the batch is timed first, to predict the time of a step with the whole batch


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Time and memory that a run needs on this machine: seconds of a training step, and of evaluating as many examples.

    `peak_memory_bytes` is of a process that does both, with dev batches of their own size. Where the task's data is
    not `prepared`, sequences of full length were measured, for an upper bound. Fewer examples than a part of a batch
    has are measured when such a part takes too long.
    """

    step_seconds: float
    eval_seconds: float
    peak_memory_bytes: float
    dev_examples: int
    test_examples: int
    prepared: bool
    measured_examples: int
    batch_size: int

    @property
    def note(self) -> str:
        """How the numbers differ from a measurement of whole steps on the task's own data; empty if they do not."""
        notes = [] if self.prepared else ["upper bound: data not prepared"]
        if self.measured_examples < self.batch_size:
            notes.append(f"scaled from {self.measured_examples} of {self.batch_size} examples")
        return "; ".join(notes)

    def seconds(self, cfg: DictConfig, *, done_steps: int = 0) -> float:
        """Estimate the seconds that a run still needs after `done_steps`: training, dev passes and the test."""
        recipe = cfg.recipe
        fraction_left = 1 - done_steps / recipe.steps
        passes = fraction_left * max(recipe.steps / recipe.eval_every, 1)
        eval_batches = (passes * self.dev_examples + self.test_examples) / recipe.batch_size
        return float(fraction_left * recipe.steps * self.step_seconds + eval_batches * self.eval_seconds)


def measure(cell: Cell) -> Estimate:
    """Run a few steps of a cell in a child process.

    Raises:
        UserError: when the child fails, with its error line, or takes too long.
    """
    command = python_module("lra.sweeps.estimate", *cell.overrides)
    with Child(command, echo=False, keep_output=True, patience_seconds=0) as child:
        code = child.wait(CHILD_SECONDS)
        if code is None:
            raise UserError(f"a few steps took more than {CHILD_SECONDS:.0f} s")
        if code:
            raise UserError(child.error())
        return Estimate(**json.loads(child.output[-1]))


def measure_here(cfg: DictConfig) -> Estimate:
    """Measure a few training steps and a dev batch in this process.

    With `trainer.accumulate_grad_batches=auto` the batch is in as few parts as fit into memory, as in a training.
    """
    from lra.training.memory import in_fewest_parts

    if cfg.trainer.accumulate_grad_batches != config.AUTO:
        return _measure_in_parts(cfg)

    def measure(parts: int) -> Estimate:
        split = cfg.copy()
        split.trainer.accumulate_grad_batches = parts
        return _measure_in_parts(split)

    def same(parts: int) -> bool:
        return build_trainer.is_same_in_parts(cfg, build.build_model(cfg), parts)

    return in_fewest_parts(measure, cfg.recipe.batch_size, same=same)


def _measure_in_parts(cfg: DictConfig) -> Estimate:
    from lra.timing import harness_step as bench
    from lra.timing.counting import synchronized_seconds
    from lra.training.machine import autocast_context, prepare_machine, to_weight_dtype
    from lra.training.memory import peak_memory_bytes

    machine = build_trainer.build_machine(cfg)
    prepare_machine(machine)
    device, precision = machine.device, machine.precision
    module = to_weight_dtype(precision, build.build_module(cfg)).to(device).train()
    optimizer = module.make_optimizer()
    parts = config.batch_parts(cfg)
    size = cfg.recipe.batch_size // parts
    prepared = is_prepared(cfg)
    batches = batches_to_measure(cfg, device)
    if prepared:
        data = build.build_datamodule(cfg)
        dev_examples, test_examples = data.num_examples("dev"), data.num_examples("test")
    else:
        dev_examples, test_examples = _examples(cfg)
    memory_before = peak_memory_bytes(device)

    def step(examples: int) -> float:
        return bench.bare_step(module, optimizer, _first(next(batches), examples), precision).total

    probe = max(size // PROBE, 1)
    step(probe)  # warm-up: the first step is slower, because it allocates buffers and loads code
    examples = _examples_in_time(size, probe, step(probe))
    if examples > probe:
        step(examples)
    step_seconds = statistics.median(step(examples) for _ in range(STEPS))
    scale, dev_size = size / examples, cfg.trainer.get("dev_batch_size")
    if dev_size:
        cfg_of_dev = cfg.copy()
        config.use_one_device(cfg_of_dev)
        cfg_of_dev.recipe.batch_size, cfg_of_dev.trainer.accumulate_grad_batches = dev_size, 1
        batches = batches_to_measure(cfg_of_dev, device)
    dev_batch = _first(next(batches), max(round((dev_size or size) / scale), 1))
    begun = synchronized_seconds(device)
    with torch.inference_mode(), autocast_context(precision, device):
        module.eval()(dev_batch)
    return Estimate(
        step_seconds=step_seconds * scale * parts,
        eval_seconds=(synchronized_seconds(device) - begun) * cfg.recipe.batch_size / len(dev_batch.label),
        peak_memory_bytes=memory_before + scale * (peak_memory_bytes(device) - memory_before),
        dev_examples=dev_examples,
        test_examples=test_examples,
        prepared=prepared,
        measured_examples=examples,
        batch_size=size,
    )


def count_step_flops(cfg: DictConfig) -> int:
    """Count the FLOPs (of matrix products and Fourier transforms) of a training step, on sequences of full length."""
    from lra.timing import harness_step as bench
    from lra.timing.counting import count_work

    module, cpu = build.build_module(cfg).train(), torch.device("cpu")
    optimizer, example = module.make_optimizer(), _full_batch(cfg, 1, cpu)
    return count_work(lambda: bench.bare_step(module, optimizer, example)).flops * int(cfg.recipe.batch_size)


def batches_to_measure(cfg: DictConfig, device: torch.device) -> Iterator[Batch]:
    """Yield training batches of the task's own data, or batches of full length if it is not prepared."""
    from lra.timing import harness_step as bench

    if is_prepared(cfg):
        return bench.batches_of(build.build_datamodule(cfg), device)
    return itertools.repeat(_full_batch(cfg, cfg.recipe.batch_size // config.batch_parts(cfg), device))


def _examples_in_time(size: int, probe: int, probe_seconds: float) -> int:
    """Halve the batch until its steps fit into `SECONDS`, but not below the examples of the probe."""
    examples = size
    while examples > probe and (STEPS + 1) * probe_seconds * examples / probe > SECONDS:
        examples = max(examples // 2, probe)
    return examples


def _first(batch: Batch, examples: int) -> Batch:
    valid = None if batch.valid is None else batch.valid[:examples]
    return Batch(batch.tokens[:examples], valid, batch.label[:examples])


def _full_batch(cfg: DictConfig, size: int, device: torch.device) -> Batch:
    """Make a batch of random tokens, or real values, in which every sequence has the full length."""
    spec = build.build_spec(cfg)
    shape = (size, spec.num_sequences, spec.seq_len)
    tokens = torch.randint(1, cfg.model.get("vocab_size") or spec.vocab_size, shape, device=device)
    label = torch.randint(spec.num_classes, (size,), device=device)
    valid = tokens != 0 if cfg.task.mask_zero else None
    return Batch(tokens / spec.vocab_size if cfg.model.get("inputs") == "values" else tokens, valid, label)


def _examples(cfg: DictConfig) -> tuple[int, int]:
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


if __name__ == "__main__":  # the child of `measure`
    sys.exit(print_as_child(lambda: asdict(measure_here(config.load_config("train", sys.argv[1:])))))
