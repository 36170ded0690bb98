"""Lightning's Trainer as a run, its test and a measurement need it."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import DDPStrategy, Strategy
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from lra.base.files import replace_bytes
from lra.base.signals import raise_if_stopped
from lra.training.checkpoints import read_checkpoint
from lra.training.cluster_environment import LaunchedProcess
from lra.training.machine import Machine, lightning_precision, prepare_machine
from lra.training.memory import is_glibc, resident_bytes, return_freed_memory_beyond
from lra.training.ranks import is_launched, set_rank_zero
from lra.types import UserError


def make_trainer(
    machine: Machine, arguments: Mapping[str, Any] | None = None, *, callbacks: Sequence[Callback] = (), **settings: Any
) -> pl.Trainer:
    """Make a Lightning Trainer for `machine`, without Lightning's progress bar, model summary and sanity check.

    The user's `arguments` replace those of ours that have the same name; `plugins` are added to ours.

    Raises:
        UserError: when Lightning refuses the user's `arguments`.
    """
    prepare_machine(machine)
    keeps = machine.accelerator == "cpu" and is_glibc()
    if machine.processes == 1:
        set_rank_zero()
    # Lightning would guess from any environment variable how the processes of a run find each other.
    launched = is_launched(machine.processes)
    environment = LaunchedProcess(machine.processes) if launched else LightningEnvironment()
    defaults: dict[str, Any] = {
        "callbacks": [StopsAtSignals(), *callbacks, *([FreedMemory()] if keeps else [])],
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
        "plugins": [WholeCheckpointIO(), environment],
        **settings,
    }
    added = {**(arguments or {})}
    defaults["plugins"] += added.pop("plugins", [])
    try:
        trainer = pl.Trainer(**{**defaults, **added})
    except (MisconfigurationException, TypeError, ValueError) as error:
        if not arguments:
            raise
        typed = ", ".join(f"+trainer.{name}={value}" for name, value in arguments.items())
        raise UserError(f"Lightning's Trainer does not take {typed}: {' '.join(str(error).split())}") from error
    # `lra.base.signals` handles signals. Lightning's handlers would answer SIGTERM with a collective call, which waits
    # for processes that have ended, and SLURM's signals with a checkpoint in the middle of a step.
    trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
    # And several processes would ask each other before every batch, through the device, whether one had a SIGTERM.
    trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]
    return trainer


def _strategy(machine: Machine) -> str | Strategy:
    """Choose Lightning's strategy; with GPUs it is told which one each local rank has."""
    if machine.processes == 1:
        return "auto"
    if machine.accelerator == "cpu":
        return "ddp"
    return DDPStrategy(parallel_devices=[torch.device("cuda", index) for index in machine.device_indices])


class StopsAtSignals(Callback):
    """Ends a run after a signal whose exception a library has caught."""

    def on_train_batch_start(self, *_: object) -> None:
        """Check before each batch of any split."""
        raise_if_stopped()

    on_validation_batch_start = on_test_batch_start = on_train_batch_start  # type: ignore[assignment]


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


class WholeCheckpointIO(CheckpointIO):
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

    def remove_checkpoint(self, path: Path | str) -> None:
        """Delete the checkpoint at `path`, as Lightning's ModelCheckpoint asks for; lra itself never does."""
        Path(path).unlink(missing_ok=True)
