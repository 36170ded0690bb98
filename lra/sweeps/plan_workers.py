"""What `lra table plan` says of several cells at a time: how many fit into memory, and what they do together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lra.types import UserError

if TYPE_CHECKING:
    from lra.sweeps.grid import Cell
    from lra.sweeps.run_set import RunSet

NUMBERS_TRIED = (1, 2, 4, 8)
SHARED_MEMORY = 0.9  # of the memory that the cells may take together
CONTEXT_BYTES = 600 * 2**20  # of a process on a GPU, beside what torch's allocator counts


class Measured(NamedTuple):
    """A kind of missing cells: the hours that they need, the largest memory of one, and one of them."""

    hours: float
    peak_bytes: float
    cell: Cell


def that_fit(peak_bytes: float, memory_bytes: float, *, on_gpu: bool) -> int:
    """Count the processes that fit into memory, each with the largest memory of any cell; at least 1."""
    return max(1, int(SHARED_MEMORY * memory_bytes / (peak_bytes + (CONTEXT_BYTES if on_gpu else 0))))


def proposal(run_set: RunSet, kinds: Sequence[Measured]) -> str:
    """Word how many cells to run at a time.

    On a GPU the throughput of several processes is measured with the cell that has the most hours left. On a CPU it is
    measured if `workers=` is typed; otherwise its cores are named, because one process may use all of them.

    Args:
        run_set: the runs.
        kinds: what is known of the missing cells, at least one.
    """
    cell, peak_bytes = max(kinds, key=lambda kind: kind.hours).cell, max(kind.peak_bytes for kind in kinds)
    on_gpu, cores = cell.cfg.trainer.accelerator == "gpu", os.cpu_count() or 1
    fit = that_fit(peak_bytes, _memory_bytes(on_gpu=on_gpu), on_gpu=on_gpu)
    if not on_gpu and run_set.options.workers == 1:
        most = min(fit, cores)
        if most == 1:
            return "No more than one at a time: there is one core, or memory for one."
        run = run_set.run_command(f"workers={most}", "trainer.threads=1")
        return f"{most} at a time, one on each core: {run}"
    most = min(fit, max(NUMBERS_TRIED) if on_gpu else run_set.options.workers)
    numbers = sorted({number for number in NUMBERS_TRIED if number < most} | {1, most})
    try:
        rates = _rates(cell, numbers)
    except UserError as error:
        return f"{fit} fit into memory; several at a time could not be measured: {error}"
    best = max(numbers, key=lambda number: rates[number])
    threads = () if on_gpu or best == 1 else (f"trainer.threads={max(1, cores // best)}",)
    said = ", ".join(f"{number}: {rates[number]:.1f}" for number in numbers)
    return (
        f"{fit} fit into memory. Steps per second of so many {_name(cell)} at a time, {said};"
        f" {rates[best] / rates[1]:.2f} times one alone: {run_set.run_command(f'workers={best}', *threads)}"
    )


def _name(cell: Cell) -> str:
    return f"{cell.cfg.task.name}/{cell.choice('attention')}"


def _rates(cell: Cell, numbers: Sequence[int]) -> dict[int, float]:
    from lra.sweeps import side_by_side

    return {number: side_by_side.steps_per_second(cell.overrides, number) for number in numbers}


def _memory_bytes(*, on_gpu: bool) -> int:
    import torch

    from lra.timing.memory import free_bytes

    return free_bytes(torch.device("cuda" if on_gpu else "cpu"))
