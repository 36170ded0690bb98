"""What a training is told beside its model, data and device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:  # slow, and a test of a run does without
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.loggers.logger import Logger


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """How long a run trains, and when it does something beside training; all but the seconds in optimizer steps.

    Attributes:
        steps: the whole run and its schedule.
        eval_every: between dev passes.
        max_steps: where training stops early; None: nowhere.
        log_every_steps: between logged points. There several processes also ask each other whether it is time to save
            or to stop: they do so through the device, for which a logged point waits anyway.
        checkpoint_every_seconds: between checkpoints, beside those after each dev pass.
    """

    steps: int
    eval_every: int
    max_steps: int | None = None
    log_every_steps: int
    checkpoint_every_seconds: float

    @property
    def last_step(self) -> int:
        """The step where this training ends, unless a callback ends it before."""
        return self.steps if self.max_steps is None else min(self.steps, self.max_steps)


@dataclass(frozen=True, kw_only=True)
class TrainerAdditions:
    """What is added to Lightning's Trainer.

    Attributes:
        loggers: where numbers go.
        callbacks: callbacks of the user's own; one may end the run early.
        profiler: the name of a Lightning profiler; None: none.
        arguments: arguments of the Trainer that are the user's, see `lra.settings.added_keys`.
        console: shows progress, unless a callback shows it or the Trainer's `enable_progress_bar` is false.
    """

    loggers: list[Logger] = field(default_factory=list)
    callbacks: Sequence[Callback] = ()
    profiler: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    console: Console = field(default_factory=partial(Console, quiet=True))
