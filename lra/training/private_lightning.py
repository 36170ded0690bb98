"""What `lra` uses of Lightning that is not in its interface, tried with the version in `constraints.txt`.

`tests/house/test_private_doors.py` tells when something of it has moved.
"""

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl

Function = Callable[..., Any]


def is_accumulating(trainer: pl.Trainer) -> bool:
    """Tell whether the batch that ends was a part of a larger one, so that no optimizer step was taken."""
    return bool(trainer.fit_loop._should_accumulate())


def end_at(trainer: pl.Trainer, step: int) -> None:
    """End the training at this optimizer step, as if it were the Trainer's `max_steps`."""
    trainer.fit_loop.epoch_loop.max_steps = step


def leave_signals_alone(trainer: pl.Trainer) -> None:
    """Keep Lightning from handling signals, and from asking other processes before each batch whether one had one."""
    trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
    trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]


def checkpoint_of_weights(trainer: pl.Trainer) -> dict[str, Any]:
    """The content of a checkpoint with the weights alone."""
    return trainer._checkpoint_connector.dump_checkpoint(weights_only=True)


def around_restoring(
    trainer: pl.Trainer, around: Callable[[Function], Function], check: Callable[[dict[str, Any]], None]
) -> None:
    """Have a checkpoint restored inside of `around`, a decorator, and then checked.

    Args:
        trainer: before it fits.
        around: decorates both parts of restoring: weights and callbacks, then optimizers, schedules and loops.
        check: is called with the checkpoint when all is restored; not without a checkpoint.
    """
    connector = trainer._checkpoint_connector
    restore_modules, restore_training = connector._restore_modules_and_callbacks, connector.restore_training_state

    def restore_training_state() -> None:
        restore_training()
        if connector._loaded_checkpoint:
            check(connector._loaded_checkpoint)

    connector._restore_modules_and_callbacks = around(restore_modules)  # type: ignore[method-assign]
    connector.restore_training_state = around(restore_training_state)  # type: ignore[method-assign]
