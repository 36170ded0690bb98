"""The hardware and precision of a run, and how a process is prepared for them.

`tf32` lets a GPU read float32 with 10 bits of 23 after the point, and add in float32. torch does so for convolutions
unless it is told otherwise, so both products and convolutions are set here.
"""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from lra.base.devices import VISIBLE, no_device_error
from lra.training.memory import keep_freed_memory
from lra.training.ranks import is_launched
from lra.types import UserError

Weights = TypeVar("Weights", bound=nn.Module)
TF32, DOUBLE = "tf32", "64-true"
MIXED = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
AMPERE = (8, 0)  # compute capability of the first generation of NVIDIA's GPUs that computes in TF32 and bfloat16
FROM_AMPERE = {  # what a GPU before it does in a precision, and the nearest one that it has
    TF32: ("has no TF32", "32-true"),
    "bf16-mixed": ("has no bfloat16, which torch emulates slowly", "16-mixed"),
}
THREADS_PER_CORE = 4  # upper bound; with a million threads, torch crashes


def set_float32(precision: str) -> None:
    """Let this process compute float32 products and convolutions in TF32 for `tf32`, else exactly."""
    shorter = precision == TF32
    torch.set_float32_matmul_precision("high" if shorter else "highest")
    torch.backends.cudnn.allow_tf32 = shorter


def lightning_precision(precision: str) -> str:
    """Return the name that Lightning has for a precision: `tf32` is float32 to it."""
    return "32-true" if precision == TF32 else precision


def autocast_context(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Make the context in which a forward pass has a precision of Lightning's Trainer."""
    return torch.autocast(device.type, dtype=MIXED[precision]) if precision in MIXED else nullcontext()


def to_weight_dtype(precision: str, module: Weights) -> Weights:
    """Convert the weights to the type that a precision of Lightning's Trainer has: float64 for `64-true`."""
    return module.double() if precision == DOUBLE else module


def check_gpu_precision(precision: str) -> None:
    """Refuse a precision that the GPU lacks: torch would compute in another one, or emulate it.

    Raises:
        UserError: for `tf32` and `bf16-mixed` on a GPU before Ampere.
    """
    if precision in FROM_AMPERE and torch.cuda.get_device_capability() < AMPERE:
        lacks, nearest = FROM_AMPERE[precision]
        right = f"trainer.precision={nearest}"
        line = f"trainer.precision={precision}, but {torch.cuda.get_device_name()} {lacks}; type {right}"
        raise UserError(line, kind="wrong_value", key="trainer.precision", value=precision, right=right)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Hardware and precision that a run uses on this machine, by the names of Lightning's Trainer arguments.

    The precision may also be `tf32`, see `set_float32`. Without `threads` a CPU has torch's default.

    Raises:
        UserError: when `accelerator` is `gpu` and torch sees no CUDA device, fewer than `devices` or one without the
            precision, or `threads` is far above the number of cores.
    """

    accelerator: str
    devices: int = 1
    num_nodes: int = 1
    precision: str = "32-true"
    accumulate_grad_batches: int = 1
    threads: int | None = None

    def __post_init__(self) -> None:
        cores = os.cpu_count() or 1
        if self.threads and self.threads > THREADS_PER_CORE * cores:
            line = (
                f"trainer.threads={self.threads}, but this machine has {cores} cores, and more than {THREADS_PER_CORE}"
                f" threads a core are no help; type trainer.threads={cores}"
            )
            raise UserError(line, kind="wrong_value", key="trainer.threads", value=self.threads, right=cores)
        if self.accelerator == "gpu":
            if not torch.cuda.is_available():
                raise no_device_error()
            self._check_devices(torch.cuda.device_count())
            check_gpu_precision(self.precision)

    def _check_devices(self, visible: int) -> None:
        """Refuse more devices than this process sees, unless it is one of several and sees its own alone."""
        if self.devices <= visible or (visible == 1 and is_launched(self.processes)):
            return
        right = f"trainer.devices={visible}"
        listed = f" ({VISIBLE}={os.environ[VISIBLE]})" if VISIBLE in os.environ else ""
        line = f"trainer.devices={self.devices}, but torch sees {visible} CUDA devices here{listed}; type {right}"
        raise UserError(line, kind="wrong_value", key="trainer.devices", value=self.devices, right=right)

    @property
    def processes(self) -> int:
        """Number of processes that train together, on all nodes."""
        return self.devices * self.num_nodes

    @property
    def device_indices(self) -> list[int]:
        """The device of each local rank: its own, or the only one if each process sees one, as srun may bind them."""
        bound = self.accelerator == "gpu" and torch.cuda.device_count() == 1
        return [0] * self.devices if bound else list(range(self.devices))

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
        "callbacks used to create the checkpoint",  # when a run is resumed with other callbacks of the user's own
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


@contextmanager
def inference_on(machine: Machine, module: nn.Module) -> Iterator[None]:
    """Within this context a module, which is moved to the machine's device, computes as in the Trainer's tests."""
    prepare_machine(machine)
    to_weight_dtype(machine.precision, module).to(machine.device).eval()
    with torch.inference_mode(), autocast_context(machine.precision, machine.device):
        yield
