"""The number of parts of a run's batch: typed, or with `auto` the first that fits into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lra.settings.config import AUTO, batch_parts
from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from lra.training.module import ClassifierModule

SETTING = "trainer.accumulate_grad_batches"


class TooLargeError(Exception):
    """Raised when a batch does not fit into memory; the run can begin again with `parts` parts."""

    def __init__(self, parts: int):
        super().__init__(parts)
        self.parts = parts


def first_parts(cfg: DictConfig, folder: Path) -> int:
    """Return the number of parts that a run begins or goes on with: that of its checkpoint, if it has one.

    Raises:
        UserError: when another number is typed than that of the checkpoint, whose position counts parts.
    """
    from lra.training.resume import saved_parts

    saved, typed = saved_parts(folder), batch_parts(cfg)
    if saved is None or saved == typed:
        return typed
    if cfg.trainer.accumulate_grad_batches != AUTO:
        raise UserError(
            f"{SETTING}={typed}, but the run was begun with its batch in {saved} parts; to go on type {SETTING}={AUTO},"
            f" to begin again move {folder} away"
        )
    return saved


def more_parts(cfg: DictConfig, folder: Path, module: ClassifierModule, parts: int) -> int | None:
    """Return the next number of parts to try when `parts` did not fit; None if that would be another run.

    That is so if the number was typed, if a checkpoint has been written, and for what `is_same_in_parts` says.
    """
    from lra.build.trainer import is_same_in_parts
    from lra.runs.files import LAST
    from lra.training.checkpoints import saved_step
    from lra.training.memory import next_parts

    if cfg.trainer.accumulate_grad_batches != AUTO or saved_step(folder / LAST):
        return None
    more = next_parts(cfg.recipe.batch_size, parts)
    return more if more is not None and is_same_in_parts(cfg, module.model, more) else None
