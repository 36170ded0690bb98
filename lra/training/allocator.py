"""Keep freed memory for the next step.

A tensor above 32 MB is a mapping of its own to glibc, given back when freed and zeroed page by page when asked for
again: at Image's shape more than half of a training step on the CPU. Without such mappings the same memory is used
again; a process then holds about a third more of it.
"""

from __future__ import annotations

import ctypes
import platform

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # names of glibc's malloc.h
KEPT_BYTES = 2**31 - 1  # freed memory at the end of the heap that is not given back; the most that glibc takes
GROWN_BYTES = 1 << 28


def keep_freed_memory() -> bool:
    """Set this process's allocator so; False where it is not glibc's."""
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT_BYTES), (TOP_PAD, GROWN_BYTES))
    return all(mallopt(name, value) for name, value in settings)
