"""Which of several processes this one is, when they train one model together (DDP)."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import distributed

T = TypeVar("T")
PR_SET_PDEATHSIG = 1


def is_launched() -> bool:
    """Whether something has started this process as one of several: torchrun, or SLURM's srun with several tasks."""
    return "LOCAL_RANK" in os.environ or int(os.environ.get("SLURM_NTASKS", "1")) > 1


def rank() -> int:
    """Number of this process among those that train together; 0 when it is alone."""
    return int(os.environ.get("RANK") or (os.environ.get("SLURM_PROCID", "0") if is_launched() else "0"))


def run_together(devices: int, words: Sequence[str]) -> tuple[int, list[str]]:
    """Start `lra train WORDS` in as many processes, through torchrun, and wait for them.

    Returns:
        The exit code, and the lines of the errors that they wrote.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={devices}"]
    threads = os.environ.get("OMP_NUM_THREADS") or str(max((os.cpu_count() or devices) // devices, 1))
    with subprocess.Popen(
        [*command, "-m", "lra", "train", *words],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
        env={**os.environ, "OMP_NUM_THREADS": threads},
    ) as child:
        assert child.stderr is not None
        try:
            lines = [line.rstrip() for line in child.stderr]
            return child.wait(), [line for line in lines if line]
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise


def die_with_parent() -> None:
    """Ask for SIGKILL when the parent ends, however it ends, so that nothing goes on unseen; on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def gather(mine: T) -> list[T]:
    """Every process's object, by rank; just this one's when it is alone."""
    if not distributed.is_initialized():
        return [mine]
    found: list[T | None] = [None] * distributed.get_world_size()
    distributed.all_gather_object(found, mine)
    return found  # type: ignore[return-value]  # every place is filled


def interleave(parts: list[list[torch.Tensor]]) -> list[torch.Tensor]:
    """Batches in their order, of which process r of W had those numbered r, r + W, r + 2 W …"""
    count = sum(len(part) for part in parts)
    return [parts[number % len(parts)][number // len(parts)] for number in range(count)]
