"""Keep freed memory for the next step, and give it back before there is too much of it.

A tensor above 32 MB is a mapping of its own to glibc, given back when freed and zeroed page by page when asked for
again: at Image's shape more than half of a training step on the CPU. Without such mappings the same memory is used
again. But packed batches have other sizes each time, and what is freed in pieces does not fit the next one: a process
grows, to 17 GB in 90 steps of Reformer whose step needs 4.6. So it is given back now and then.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from pathlib import Path

from pytorch_lightning.callbacks import Callback

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # names of glibc's malloc.h
KEPT_BYTES = 2**31 - 1  # freed memory at the end of the heap that is not given back; the most that glibc takes
GROWN_BYTES = 1 << 28
STATM = Path("/proc/self/statm")  # sizes in pages; the second is what is resident
PAGE_BYTES = 4096


@functools.cache
def is_glibc() -> bool:
    """Whether this process uses glibc's allocator, which can be tuned; read from Python's own executable."""
    return platform.libc_ver()[0] == "glibc"


def keep_freed_memory() -> bool:
    """Tell glibc's allocator to keep freed memory for reuse; False if this process uses another allocator."""
    if not is_glibc():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT_BYTES), (TOP_PAD, GROWN_BYTES))
    return all(mallopt(name, value) for name, value in settings)


def resident_bytes() -> int:
    """Memory that this process holds now."""
    return int(STATM.read_text().split()[1]) * PAGE_BYTES


class FreedMemory(Callback):
    """Returns freed memory to the system when the process holds 1.5 times what a step needs, plus a margin.

    The step after that takes its pages anew; Reformer, which grows most, has that every twenty steps or so.

    Args:
        growth: how many times of what a step needs may be held.
        margin_bytes: what may be held beside.
    """

    def __init__(self, *, growth: float = 1.5, margin_bytes: int = 1 << 28):
        self.growth, self.margin_bytes = growth, margin_bytes
        self.needed_bytes: int | None = None
        self.times = 0

    def step(self) -> None:
        """Look, after a step; the first after giving back says what a step needs."""
        held = resident_bytes()
        if self.needed_bytes is None:
            self.needed_bytes = held
        elif held > self.growth * self.needed_bytes + self.margin_bytes:
            ctypes.CDLL(None).malloc_trim(0)
            self.needed_bytes = None
            self.times += 1

    def on_train_batch_end(self, *_: object) -> None:
        """After a training batch."""
        self.step()

    def on_validation_batch_end(self, *_: object) -> None:
        """After a dev batch."""
        self.step()

    def on_test_batch_end(self, *_: object) -> None:
        """After a test batch."""
        self.step()
