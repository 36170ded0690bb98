"""Memory of a training process: freed memory that is kept, the peak, and parts of a batch after running out of it.

By default, glibc returns a tensor above 32 MB to the system when it is freed. The system then zeroes every page of the
next such tensor, which took more than half of a training step on the CPU at Image's shape. With that turned off, freed
memory is used again. But packed batches differ in size, so freed pieces often do not fit the next tensor and the
process grows: to 17 GB in 90 steps of Reformer, of which one step needs 4.6 GB. So memory is returned now and then.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch

from lra.base.processes import is_out_of_memory, peak_resident_bytes, reset_peak_resident
from lra.types import Batch, TaskSpec, UserError

if TYPE_CHECKING:  # it imports Lightning, which is slow
    from lra.training.module import ClassifierModule

T = TypeVar("T")
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # names of glibc's malloc.h
KEPT_BYTES = 2**31 - 1  # freed memory at the end of the heap that is kept; the largest value that glibc takes
GROWN_BYTES = 1 << 28
STATM = Path("/proc/self/statm")  # sizes in pages; the second number is resident memory


def next_parts(batch_size: int, parts: int) -> int | None:
    """Return the next number of equal parts to try after `parts`, at least twice as many; None if there is none."""
    return next((more for more in range(2 * parts, batch_size + 1) if batch_size % more == 0), None)


def in_fewest_parts(measure: Callable[[int], T], batch_size: int, *, same: Callable[[int], bool]) -> T:
    """Call `measure` with 1, 2, 4 … parts of a batch, until it does not run out of memory; return its result.

    Raises:
        UserError: when not even one example fits, and when more parts would make another run, as `same` says.
    """
    parts: int | None = 1
    while parts is not None:
        try:
            return measure(parts)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        release_memory()
        parts = next_parts(batch_size, parts)
        if parts is not None and not same(parts):
            line = f"out of memory, and in {parts} parts the batch would make another run"
            raise UserError(line, kind="other_run", value=parts)
    raise UserError("out of memory with one example at a time", kind="no_memory")


def release_memory() -> None:
    """Give the memory of a failed attempt back: its modules refer to each other, so they are not freed at once."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def parts_that_fit(module: ClassifierModule, spec: TaskSpec, *, batch_size: int, parts: int) -> int | None:
    """Find the smallest number of parts of a batch such that a forward and a backward pass of one part fit in memory.

    Each number, at least twice those `parts` that did not fit, is tried with sequences of full length, in the precision
    of the weights.

    Returns:
        The number of parts, a divisor of `batch_size`; None if not even one example fits.
    """
    from lra.model.classifier import placeholder_inputs  # slow: torch's compiler, which no memory needs

    for more in range(2 * parts, batch_size + 1):
        if batch_size % more:
            continue
        shape = (batch_size // more, spec.num_sequences, spec.seq_len)
        tokens = placeholder_inputs(module.model, shape, module.device)
        try:
            batch = Batch(tokens, tokens != 0, torch.zeros(len(tokens), dtype=torch.long, device=module.device))
            module.loss(module(batch), batch.label).backward()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        else:
            return more
        finally:
            module.zero_grad(set_to_none=True)
    return None


@functools.cache
def is_glibc() -> bool:
    """Tell whether Python's executable is linked to glibc, whose allocator can be tuned."""
    return platform.libc_ver()[0] == "glibc"


def keep_freed_memory() -> bool:
    """Tell glibc's allocator to keep freed memory for reuse; return False if this process uses another allocator."""
    if not is_glibc():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT_BYTES), (TOP_PAD, GROWN_BYTES))
    return all(mallopt(name, value) for name, value in settings)


def return_freed_memory() -> None:
    """Return freed memory to the system; the next large tensor gets its pages anew."""
    if is_glibc():
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """Resident memory of this process, in bytes."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def return_freed_memory_beyond(needed_bytes: int, *, growth: float, margin_bytes: int) -> bool:
    """Return freed memory if the process holds more than `growth` times its need and a margin; tell whether it did."""
    too_much = resident_bytes() > growth * needed_bytes + margin_bytes
    if too_much:
        return_freed_memory()
    return too_much


def peak_memory_bytes(device: torch.device) -> int:
    """Largest memory so far, in bytes: of torch's allocator on a GPU, else of the whole process."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else peak_resident_bytes()


def reset_peak_memory(device: torch.device) -> None:
    """Let the largest memory begin anew, where the system allows it: earlier runs of the process do not count."""
    release_memory()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        return_freed_memory()
        reset_peak_resident()
