"""The number of parts of a run's batch: typed, or with `auto` the first that fits into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lra.config import AUTO, batch_parts
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

    That is so if the number was typed, if a checkpoint has been written, and if a part has other batch-wide constants
    or other test examples than the whole batch. Several processes would have to agree on a number, so they try none.
    Modes of `compile=` with CUDA graphs, which are words, overwrite the gradients of the parts before.
    """
    from lra.run_files import LAST
    from lra.training.checkpoints import saved_step
    from lra.training.memory import next_parts

    if cfg.trainer.accumulate_grad_batches != AUTO or cfg.trainer.devices > 1 or saved_step(folder / LAST):
        return None
    batch = cfg.recipe.batch_size
    more = next_parts(batch, parts)
    if more is None or cfg.protocol.test_last_batch == "dropped" or isinstance(cfg.get("compile"), str):
        return None
    group = min(cfg.model.get("batch_constant_examples") or batch, batch)
    return None if has_batch_wide_constants(module) and batch // more % group else more


def has_batch_wide_constants(module: ClassifierModule) -> bool:
    """Tell whether a number of the model depends on all examples that are computed at once."""
    return any(getattr(part, "batch_wide", False) for part in module.model.modules())
