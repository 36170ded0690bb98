"""Keep freed memory in the process for the next step, and return it to the system before it becomes too much.

By default, glibc returns a tensor above 32 MB to the system when it is freed. The system then zeroes every page of the
next such tensor, which took more than half of a training step on the CPU at Image's shape. With that turned off, freed
memory is used again. But packed batches differ in size, so freed pieces often do not fit the next tensor and the
process grows: to 17 GB in 90 steps of Reformer, of which one step needs 4.6 GB. So memory is returned now and then.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from pathlib import Path

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # names of glibc's malloc.h
KEPT_BYTES = 2**31 - 1  # freed memory at the end of the heap that is kept; the largest value that glibc takes
GROWN_BYTES = 1 << 28
STATM = Path("/proc/self/statm")  # sizes in pages; the second number is resident memory


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
