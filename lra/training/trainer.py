"""Lightning's Trainer as a run, its test and a measurement need it, also in one of several processes."""

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments import ClusterEnvironment, LightningEnvironment, SLURMEnvironment
from lightning_fabric.plugins.io import TorchCheckpointIO
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.strategies import DDPStrategy, Strategy
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from lra.base.files import replace_bytes
from lra.training import private_lightning
from lra.training.checkpoints import read_checkpoint
from lra.training.machine import Machine, lightning_precision, prepare_machine
from lra.training.memory import is_glibc, resident_bytes, return_freed_memory_beyond
from lra.training.ranks import by_srun, is_launched, local_rank, rank, set_rank_zero
from lra.types import UserError

FIRST_PORT, PORTS = 15_000, 10_000  # those from which srun's processes, which are told none, choose theirs


def make_trainer(
    machine: Machine, arguments: Mapping[str, Any] | None = None, *, callbacks: Sequence[Callback] = (), **settings: Any
) -> pl.Trainer:
    """Make a Lightning Trainer for `machine`, without Lightning's progress bar, model summary and sanity check.

    The user's `arguments` replace those of ours that have the same name; `plugins` are added to ours.

    Raises:
        UserError: when Lightning refuses the user's `arguments`.
    """
    prepare_machine(machine)
    frees = [FreedMemory()] if machine.accelerator == "cpu" and is_glibc() else []
    if machine.processes == 1:
        set_rank_zero()
    # Lightning would guess from any environment variable how the processes of a run find each other.
    launched = is_launched(machine.processes)
    environment = LaunchedProcess(machine.processes) if launched else LightningEnvironment()
    arguments = arguments or {}
    options: dict[str, Any] = {
        "callbacks": [*callbacks, *frees],
        "accelerator": machine.accelerator,
        "devices": min(machine.devices, len(set(machine.device_indices))),
        "num_nodes": machine.num_nodes,
        "strategy": _strategy(machine),
        "precision": lightning_precision(machine.precision),
        "deterministic": False,  # said, because the process may have had a run with it before
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        "use_distributed_sampler": False,  # the loaders give each process its share of a batch
        **settings,
        **arguments,
        "plugins": [WholeCheckpointIO(), environment, *arguments.get("plugins", [])],
    }
    try:
        trainer = pl.Trainer(**options)
    except (MisconfigurationException, TypeError, ValueError) as error:
        if not arguments:
            raise
        typed = ", ".join(f"+trainer.{name}={value}" for name, value in arguments.items())
        raise UserError(f"Lightning's Trainer does not take {typed}: {' '.join(str(error).split())}") from error
    # `lra.base.signals` handles signals. Lightning's handlers would answer SIGTERM with a collective call, which waits
    # for processes that have ended, and SLURM's signals with a checkpoint in the middle of a step.
    # And several processes would ask each other before every batch, through the device, whether one had a SIGTERM.
    private_lightning.leave_signals_alone(trainer)
    return trainer


def _strategy(machine: Machine) -> str | Strategy:
    """Choose Lightning's strategy; with GPUs it is told which one each local rank has."""
    if machine.processes == 1:
        return "auto"
    if machine.accelerator == "cpu":
        return "ddp"
    return DDPStrategy(parallel_devices=[torch.device("cuda", index) for index in machine.device_indices])


class FreedMemory(Callback):
    """Returns freed memory to the system when the process holds much more than a step needs.

    That is more than `growth` times a step's need and `margin_bytes`. The next step then has to get its pages from the
    system again. With Reformer, whose memory grows fastest, this happens about every twenty steps.
    """

    def __init__(self, *, growth: float = 1.5, margin_bytes: int = 1 << 28):
        self.growth, self.margin_bytes = growth, margin_bytes
        self.needed_bytes: int | None = None
        self.times = 0

    def on_train_batch_end(self, *_: object) -> None:
        """Check the memory after each batch of any split; the first one after a return sets what a step needs."""
        if self.needed_bytes is None:
            self.needed_bytes = resident_bytes()
        elif return_freed_memory_beyond(self.needed_bytes, growth=self.growth, margin_bytes=self.margin_bytes):
            self.needed_bytes = None
            self.times += 1

    on_validation_batch_end = on_test_batch_end = on_train_batch_end  # type: ignore[assignment]


class WholeCheckpointIO(TorchCheckpointIO):
    """Makes Lightning write checkpoints atomically: a kill leaves the old or the new file, never a part of one."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: object = None) -> None:
        """Write the checkpoint to `path` atomically."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        Path(path).parent.mkdir(parents=True, exist_ok=True)  # ModelCheckpoint has a folder of its own
        replace_bytes(Path(path), content.getbuffer())

    def load_checkpoint(self, path: str | Path, *_: object, **__: object) -> dict[str, Any]:
        """Read the checkpoint at `path` onto the CPU."""
        return read_checkpoint(Path(path))


class LaunchedProcess(ClusterEnvironment):
    """Reads ranks as `lra.training.ranks` does, whoever started the processes: lra itself, torchrun or srun.

    Lightning has a class for each, which believe variables of other launchers, and forget a variable after training.
    """

    def __init__(self, processes: int):
        super().__init__()
        self._processes = processes

    @property
    def creates_processes_externally(self) -> bool:
        """Lightning starts none."""
        return True

    @staticmethod
    def detect() -> bool:
        """It is never found by itself, but always named."""
        return False

    @property
    def main_address(self) -> str:
        """The machine of the first process; srun tells the machines of its step."""
        nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_NODELIST", "127.0.0.1")
        return os.environ.get("MASTER_ADDR") or SLURMEnvironment.resolve_root_node_address(nodes)

    @property
    def main_port(self) -> int:
        """The port of the first process; for srun one that depends on the job and its step, so that all know it."""
        if "MASTER_PORT" in os.environ:
            return int(os.environ["MASTER_PORT"])
        job, step = (int(os.environ.get(name, 0)) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
        return FIRST_PORT + (job + step) % PORTS

    def world_size(self) -> int:
        """Number of all processes."""
        return self._processes

    def set_world_size(self, size: int) -> None:
        """Known already."""
        assert size == self._processes

    def global_rank(self) -> int:
        """Rank among all processes."""
        return rank(self._processes)

    def set_global_rank(self, rank: int) -> None:
        """Known already; Lightning computes it as if each machine had its ranks in a row, which srun need not do."""

    def local_rank(self) -> int:
        """Rank among the processes of this machine."""
        return local_rank(self._processes)

    def node_rank(self) -> int:
        """Number of this machine."""
        return int(os.environ.get("SLURM_NODEID" if by_srun(self._processes) else "GROUP_RANK", 0))
