"""How many cells to run at once: how many fit into memory, and how many steps per second they make together."""

import itertools
import json
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

from lra.base import openmp
from lra.base.processes import Child, python_module, stop
from lra.base.text import size_text
from lra.from_config import build_module, machine_and_loggers
from lra.settings.compose import load_config
from lra.settings.run_config import RunConfig
from lra.tables.grid.cell import Cell
from lra.tables.grid.estimate import Estimate, batches_to_measure, print_as_child
from lra.tables.grid.gpu_places import gpu_groups_for
from lra.tables.grid.run_set import RunSet
from lra.training.cost.memory import free_bytes
from lra.types import UserError

NUMBERS_TRIED = (1, 2, 4, 8)
SHARED_MEMORY = 0.9  # of the memory that the cells may take together
CONTEXT_BYTES = 600 * 2**20  # of a process on a GPU, beside what torch's allocator counts
SLOWEST_STEP_SECONDS = 1.0  # of a cell of which several are timed at a time, which takes a minute then


class Measured(NamedTuple):
    """A kind of missing cells: the hours that they need, one of them, and what was measured of it."""

    hours: float
    cell: Cell
    estimate: Estimate

    @property
    def is_extrapolated(self) -> bool:
        """Whether shorter sequences were measured."""
        return self.estimate.measured_positions < self.estimate.positions


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """How many cells to run at a time.

    Attributes:
        text: it in words.
        fit: the number that fit into memory, of a GPU on one.
        at_once: the number that is proposed; None where it would have to be measured and was not.
        command: the command that runs so many at a time.
        rates: steps per second of so many cells at a time, where they were measured.
        problem: why they could not be measured.
    """

    text: str
    fit: int
    at_once: int | None = None
    command: str | None = None
    rates: dict[int, float] = field(default_factory=dict)
    problem: UserError | None = None


def propose(run_set: RunSet, kinds: Sequence[Measured]) -> Proposal:
    """Find how many cells to run at a time, from what is known of the missing ones, at least one.

    On a GPU the throughput of several processes on one device is measured with the cell that has the most hours left,
    among those whose step takes `SLOWEST_STEP_SECONDS` at most, and as many run on each of the visible devices. On a
    CPU it is measured if `workers=` is typed; otherwise its cores are named, because one process may use all of them.
    """
    cell = max(kinds, key=lambda kind: kind.hours).cell
    on_gpu, cores, options = cell.cfg.trainer.accelerator == "gpu", openmp.cores(), run_set.options
    bytes_of_one = max(kind.estimate.peak_memory_bytes for kind in kinds) + (CONTEXT_BYTES if on_gpu else 0)
    memory_bytes = free_bytes(torch.device("cuda" if on_gpu else "cpu"))
    fit = max(1, int(SHARED_MEMORY * memory_bytes / bytes_of_one))
    if not on_gpu and options.workers == 1:
        most = min(fit, cores)
        if most == 1:
            text = "No more than one at a time: there is one core, or memory for one."
            return Proposal(text=text, fit=fit, at_once=1)
        run = run_set.typed_command("run", f"workers={most}")
        return Proposal(text=f"{most} at a time, which share the cores: {run}", fit=fit, at_once=most, command=run)
    fits, typed = f"{fit} fit into memory", options.workers_per_device if on_gpu else 1
    if on_gpu:
        fits = f"{fit} fit on a GPU, {size_text(bytes_of_one)} each of {size_text(memory_bytes)} that are free"
    if typed > fit:
        fits = f"workers_per_device={typed} does not fit: {fits}"
    fast = [kind for kind in kinds if kind.estimate.step_seconds <= SLOWEST_STEP_SECONDS]
    if not fast:
        why = f"several at a time were not measured: a step takes more than {SLOWEST_STEP_SECONDS:.0f} s"
        return Proposal(text=f"{fits}; {why}", fit=fit)
    cell = max(fast, key=lambda kind: kind.hours).cell
    most = min(fit, max(NUMBERS_TRIED) if on_gpu else options.workers)
    numbers = sorted({number for number in NUMBERS_TRIED if number < most} | {1, most, min(fit, typed)})
    try:
        rates = {number: steps_per_second(cell.overrides, number) for number in numbers}
    except UserError as error:
        return Proposal(text=f"{fits}; several at a time could not be measured: {error}", fit=fit, problem=error)
    best = max(numbers, key=lambda number: rates[number])
    run = _command(run_set, best, cell)
    name = f"{cell.cfg.task.name}/{cell.choice('attention')}"
    rates_text = ", ".join(f"{number}: {rates[number]:.1f}" for number in numbers)
    text = (
        f"{fits}. Steps per second of so many {name} at a time, {rates_text};"
        f" {rates[best] / rates[1]:.2f} times one alone: {run}"
    )
    return Proposal(text=text, fit=fit, at_once=best, command=run, rates=rates)


def _command(run_set: RunSet, at_once: int, cell: Cell) -> str:
    """Word the command that runs so many cells at once, on a GPU so many on each of those that are visible."""
    if cell.cfg.trainer.accelerator == "gpu":
        workers = at_once * max(1, len(gpu_groups_for(cell.cfg.trainer.devices)))
        return run_set.typed_command("run", f"workers={workers}", f"workers_per_device={at_once}")
    return run_set.typed_command("run", f"workers={at_once}")


GO = "go"  # file that lets all of them begin
WARM_UP = 3  # steps: the first allocate memory and load kernels, or compile
STEPPING_SECONDS = 3.0  # that they step for
START_SECONDS = 180.0  # that they have to get ready
READY_POLL_SECONDS = 0.02
STEPS_AHEAD = 8  # steps that Python may be ahead of a GPU


def steps_per_second(overrides: Sequence[str], processes: int) -> float:
    """Train a cell in some processes at once, which share the cores of a CPU as workers do; sum their steps per second.

    Raises:
        UserError: when one fails, with its error line, or does not get ready in time.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, children = Path(name), list[Child]()
        command = python_module("lra.tables.grid.processes_at_once", name, *overrides)
        environment = openmp.share_of_threads(processes)
        try:
            for _ in range(processes):
                children.append(Child(command, env=environment, echo=False, keep_output=True, patience_seconds=0))
            _wait_until_ready(children, folder)
            (folder / GO).touch()
            for child in children:
                code = child.wait(START_SECONDS)
                if code is None:
                    raise UserError(f"some steps took more than {START_SECONDS:.0f} s")
                if code:
                    raise UserError(child.error())
        finally:
            stop(children)
        return float(sum(json.loads(child.output[-1]) for child in children))


def _wait_until_ready(children: Sequence[Child], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while len(list(folder.iterdir())) < len(children):
        for child in children:
            if child.wait(READY_POLL_SECONDS) is not None:
                raise UserError(child.error())
        if time.monotonic() > end:
            raise UserError(f"{len(children)} processes were not ready after {START_SECONDS:.0f} s")


def step_beside_others(cfg: RunConfig, folder: Path) -> float:
    """Be one of the processes: get ready, wait in `folder` for the others, train; return the steps per second."""
    from lra.training.cost.counting import synchronized_seconds
    from lra.training.cost.harness_step import make_step
    from lra.training.machine import prepare_machine

    machine = machine_and_loggers.build_machine(cfg)
    prepare_machine(machine)
    device, parts = machine.device, cfg.batch_parts
    batches = list(itertools.islice(batches_to_measure(cfg, device), parts))
    step = make_step(build_module(cfg).to(device).train(), batches, parts=parts, precision=machine.precision)
    for _ in range(WARM_UP):
        step()
    synchronized_seconds(device)
    (folder / str(os.getpid())).touch()
    while not (folder / GO).exists():
        time.sleep(READY_POLL_SECONDS)
    began, steps, launched = time.perf_counter(), 0, deque[torch.cuda.Event]()
    while time.perf_counter() - began < STEPPING_SECONDS:
        step()
        steps += 1
        if device.type == "cuda":  # launch some steps ahead, as training does, but not a queue of seconds
            launched.append(torch.cuda.Event())
            launched[-1].record()
            if len(launched) > STEPS_AHEAD:
                launched.popleft().synchronize()
    return steps / (synchronized_seconds(device) - began)


if __name__ == "__main__":  # a child of `steps_per_second`
    folder, *overrides = sys.argv[1:]
    sys.exit(print_as_child(lambda: step_beside_others(load_config("train", overrides), Path(folder))))
