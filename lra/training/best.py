"""The checkpoint that will be tested: the one with the best dev accuracy, and the earliest one of equals.

`last.ckpt` holds the step, the accuracy and the hash of `best.ckpt`. A new best checkpoint is stored in three steps:
its weights are written to a file beside `best.ckpt`, `last.ckpt` is replaced, and the file is renamed to `best.ckpt`.
If a kill comes between two steps, resuming finishes or drops them. No path is stored, so the folder may be moved.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lra.base.files import sha256
from lra.runs.files import BEST, LAST
from lra.training.checkpoints import going_on_from, read_checkpoint
from lra.types import UserError

NEXT = f"{BEST}.next"


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best dev pass of a run so far.

    Attributes:
        accuracy: dev accuracy, a fraction in [0, 1].
        step: optimizer steps before the dev pass.
        sha256: hex digest of the checkpoint file with the weights.
    """

    accuracy: float
    step: int
    sha256: str


BEST_PASS = TypeAdapter(Best)


def best_so_far(folder: Path) -> Best | None:
    """Find the best dev pass of the run in `folder`, whose weights are in `best.ckpt`; None before the first pass.

    Raises:
        UserError: when `best.ckpt` is missing or has another hash, or `last.ckpt` cannot be resumed from.
    """
    if not (folder / LAST).exists():
        return None
    with going_on_from(folder / LAST):
        callbacks = read_checkpoint(folder / LAST)["callbacks"]
        if "best" not in callbacks["ResumePoint"]:
            return _of_lightnings_callback(folder, callbacks)
        if callbacks["ResumePoint"]["best"] is None:
            return None
        best = BEST_PASS.validate_python(callbacks["ResumePoint"]["best"])
    if _holds(folder / NEXT, best):
        with suppress(FileNotFoundError):  # another process of this run has renamed it already
            os.replace(folder / NEXT, folder / BEST)
    if not _holds(folder / BEST, best):
        raise UserError(
            f"{folder / BEST} is missing or not the one of step {best.step}, which was the best on dev; bring that"
            f" file back, or move {folder} away and train again"
        )
    return best


def _holds(path: Path, best: Best) -> bool:
    try:
        return sha256(path) == best.sha256
    except FileNotFoundError:
        return False


def _of_lightnings_callback(folder: Path, callbacks: dict[str, Any]) -> Best | None:
    """Find the best dev pass of a run that an older version trained with Lightning's ModelCheckpoint."""
    scores = [state["best_model_score"] for key, state in callbacks.items() if key.startswith("ModelCheckpoint")]
    if not scores or scores[0] is None:
        return None
    step = int(read_checkpoint(folder / BEST)["global_step"])
    return Best(accuracy=float(scores[0]), step=step, sha256=sha256(folder / BEST))
