"""Measure the peak of the memory that a call allocates, and what memory is free.

On a GPU the peak is that of torch's allocator. On a CPU torch counts no peak, but its profiler lists all allocations
and releases of tensors' memory, so their running sum has one. Unlike the resident memory of the process, this does not
depend on what the C library keeps or on which cells were measured before. Work space inside of libraries that do not
allocate tensors, such as that of a matrix product, is in neither number.
"""

import gc
import os
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import torch

from lra.training.memory import return_freed_memory

MEMINFO = Path("/proc/meminfo")  # exists on Linux only
CGROUP = Path("/sys/fs/cgroup")  # a container's own limit, version 2


def peak_extra_bytes(function: Callable[[], object], device: torch.device) -> int:
    """Run `function` and return the most bytes that it held at once beyond those that were held before.

    Its result counts, so outputs and gradients are included; inputs and parameters are not.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        result = function()
        torch.cuda.synchronize(device)
        peak = torch.cuda.max_memory_allocated(device) - before
        del result
        return peak
    from torch.profiler import ProfilerActivity, profile

    gc.collect()  # what is released within the call must be the call's own
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        result = function()
    kineto = profiler.profiler
    assert kineto is not None
    assert kineto.kineto_results is not None
    changes = [event for event in kineto.kineto_results.events() if event.name() == "[memory]"]
    changes.sort(key=lambda event: event.start_ns())
    del result
    return max(accumulate(event.nbytes() for event in changes), default=0)


def free_bytes(device: torch.device) -> int:
    """Return the bytes that new tensors may take: on the GPU, or of the machine's memory and the container's limit."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(device)[0]
    return_freed_memory()
    if not MEMINFO.exists():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    available = int(_fields(MEMINFO)["MemAvailable:"]) * 1024
    limit = CGROUP / "memory.max"
    if not limit.exists() or limit.read_text().strip() == "max":
        return available
    used = int((CGROUP / "memory.current").read_text()) - int(_fields(CGROUP / "memory.stat")["inactive_file"])
    return min(available, int(limit.read_text()) - used)


def _fields(path: Path) -> dict[str, str]:
    return {columns[0]: columns[1] for columns in map(str.split, path.read_text().splitlines()) if len(columns) > 1}
