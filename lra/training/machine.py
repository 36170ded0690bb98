"""The hardware and precision of a run, and how a process is prepared for them."""

from __future__ import annotations

import logging
import os
import warnings
from dataclasses import dataclass

import torch

from lra.training.allocator import keep_freed_memory
from lra.training.precision import check_gpu, set_float32
from lra.types import UserError

THREADS_PER_CORE = 4  # upper bound; with a million threads, torch crashes


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Hardware and precision that a run uses on this machine.

    Args:
        accelerator, devices, accumulate_grad_batches: Lightning's Trainer arguments of the same names.
        precision: Lightning's argument of this name, or `tf32`, see `lra.training.precision`.
        threads: CPU threads; None: torch's default.

    Raises:
        UserError: when `accelerator` is `gpu` and torch sees no CUDA device, or one without the precision, or `threads`
            is far above the number of cores.
    """

    accelerator: str
    devices: int
    precision: str
    accumulate_grad_batches: int
    threads: int | None

    def __post_init__(self) -> None:
        cores = os.cpu_count() or 1
        if self.threads and self.threads > THREADS_PER_CORE * cores:
            raise UserError(
                f"trainer.threads={self.threads}, but this machine has {cores} cores, and more than {THREADS_PER_CORE}"
                f" threads a core are no help; type trainer.threads={cores}",
                kind="wrong_value",
                key="trainer.threads",
                value=self.threads,
                right=cores,
            )
        if self.accelerator == "gpu":
            if not torch.cuda.is_available():
                raise UserError(
                    "trainer=gpu, but no CUDA device is visible to torch; type trainer=cpu, or see: lra doctor"
                )
            check_gpu(self.precision)

    @property
    def device(self) -> torch.device:
        """The device of this process; on a GPU that is the current one, which Lightning sets for each process."""
        return torch.device("cuda" if self.accelerator == "gpu" else "cpu")


def quiet_lightning() -> None:
    """Suppress Lightning's messages and hints; errors are still shown."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    for text in (
        "does not have many workers",
        "You called `self.log",
        "Checkpoint directory",
        "logging interval",
        "is deprecated, use `isinstance",
        "callbacks used to create the checkpoint",  # when a run that an older version began is resumed
    ):
        warnings.filterwarnings("ignore", message=f".*{text}.*")


def prepare_machine(machine: Machine) -> None:
    """Set the precision of float32, the number of threads and the memory allocation of this process."""
    quiet_lightning()
    set_float32(machine.precision)
    if machine.accelerator == "cpu":
        keep_freed_memory()
    if machine.threads:
        torch.set_num_threads(machine.threads)
