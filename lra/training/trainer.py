"""Lightning's Trainer as a run, its test and a measurement need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.plugins.environments import ClusterEnvironment, LightningEnvironment, SLURMEnvironment
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from lra.signals import check_stopped
from lra.training.allocator import FreedMemory, is_glibc
from lra.training.checkpoints import WholeCheckpointIO
from lra.training.machine import Machine, prepare_machine
from lra.training.precision import lightnings_name
from lra.training.ranks import by_srun, come_first
from lra.types import UserError


def make_trainer(
    machine: Machine,
    arguments: Mapping[str, Any] | None = None,
    *,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> pl.Trainer:
    """Make a Lightning Trainer for `machine`, without Lightning's progress bar, model summary and sanity check.

    The user's `arguments` replace those of ours that have the same name; `plugins` are added to ours.

    Raises:
        UserError: when Lightning refuses the user's `arguments`.
    """
    prepare_machine(machine)
    keeps = machine.accelerator == "cpu" and is_glibc()
    if machine.devices == 1:
        come_first()
    own: dict[str, Any] = {
        "callbacks": [StopsAtSignals(), *callbacks, *([FreedMemory()] if keeps else [])],
        "accelerator": machine.accelerator,
        "devices": machine.devices,
        "strategy": "ddp" if machine.devices > 1 else "auto",
        "precision": lightnings_name(machine.precision),
        "deterministic": False,  # said, because the process may have had a run with it before
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        "use_distributed_sampler": False,  # the loaders give each process its share of a batch
        "plugins": [WholeCheckpointIO(), _environment(machine)],
        **settings,
    }
    added = {**(arguments or {})}
    own["plugins"] += added.pop("plugins", [])
    try:
        trainer = pl.Trainer(**{**own, **added})
    except (MisconfigurationException, TypeError, ValueError) as error:
        if not arguments:
            raise
        typed = ", ".join(f"+trainer.{name}={value}" for name, value in arguments.items())
        raise UserError(f"Lightning's Trainer does not take {typed}: {' '.join(str(error).split())}") from error
    # `lra.signals` handles signals. Lightning's handlers would answer SIGTERM with a collective call, which waits for
    # processes that have ended, and SLURM's signals with a checkpoint in the middle of a step.
    trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
    return trainer


def _environment(machine: Machine) -> ClusterEnvironment:
    """Choose how the processes of a run find each other: Lightning would guess from any environment variable."""
    return SLURMEnvironment(auto_requeue=False) if by_srun(machine.devices) else LightningEnvironment()


class StopsAtSignals(Callback):
    """Ends a run after a signal whose exception a library has caught."""

    def on_train_batch_start(self, *_: object) -> None:
        """Check before each training batch."""
        check_stopped()

    def on_validation_batch_start(self, *_: object) -> None:
        """Check before each dev batch."""
        check_stopped()

    def on_test_batch_start(self, *_: object) -> None:
        """Check before each test batch."""
        check_stopped()
