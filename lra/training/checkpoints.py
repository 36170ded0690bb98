"""Read a run's checkpoints: checked for damage, tensors and plain values only; and which one is tested.

It is the one with the best dev accuracy, and the earliest one of equals. `last.ckpt` holds the step, the accuracy and
the hash of `best.ckpt`. A new best checkpoint is stored in three steps: its weights are written to a file beside
`best.ckpt`, `last.ckpt` is replaced, and the file is renamed to `best.ckpt`. If a kill comes between two steps,
resuming finishes or drops them. No path is stored, so the folder may be moved.
"""

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError  # what torch raises; nothing here unpickles
from typing import Any, TypeGuard

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from lra.base.files import MOVE_AWAY, regular_file, sha256
from lra.base.processes import is_out_of_memory
from lra.base.signals import Stopped
from lra.runs.files import BEST, LAST, RESULT
from lra.types import UserError

OF_MODEL = "model."  # how the names of the model's weights begin in a checkpoint; the others are those of metrics
NEXT_BEST = f"{BEST}.next"


def saved_step(path: Path) -> int:
    """Number of optimizer steps before the checkpoint at `path`; 0 if there is no file."""
    return int(read_checkpoint(path)["global_step"]) if path.exists() else 0


@contextmanager
def report_saved_step(folder: Path, steps: int) -> Iterator[None]:
    """Within this context, the message of `Stopped` also says that the run is finished, or which step is saved.

    Of two such contexts the inner one, of an earlier stage, says it.
    """
    try:
        yield
    except Stopped as stopped:
        if stopped.kept:
            raise
        if (folder / RESULT).exists():
            stopped.kept = f"the run is finished, its result is in {folder}"
        else:
            step = saved_step(folder / LAST)
            kept = f"step {step:,} of {steps:,} is saved in {folder}" if step else "no step was saved yet"
            stopped.kept = f"{kept}. The same command goes on from there."
        raise


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read and check a checkpoint; its tensors are on the CPU.

    Raises:
        UserError: when the file is damaged, holds objects of other types, or is no checkpoint of lra.
    """
    problem = None
    try:
        _check_archive(path)
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, LookupError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
    except UnpicklingError:  # torch's own message advises to turn this protection off
        problem = "it holds more than tensors and plain values, which is never loaded"
    if problem:
        line = f"{path} cannot be read as a checkpoint ({problem}); move it away and train again"
        raise UserError(line, kind="damaged_file", key=path.name, value=problem)
    if not _is_ours(checkpoint):
        line = f"{path} is no checkpoint of lra; move it away and train again"
        raise UserError(line, kind="foreign_file", key=path.name)
    # In an older version a block's mixer was called `attention`.
    old = re.compile(r"(\bblocks\.\d+\.)attention(_norm)?\.")
    state = checkpoint["state_dict"]
    checkpoint["state_dict"] = {old.sub(r"\1mixer\2.", name): weight for name, weight in state.items()}
    return checkpoint


def _is_ours(checkpoint: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether a checkpoint has a step and weights."""
    if not isinstance(checkpoint, dict):
        return False
    step, state = checkpoint.get("global_step"), checkpoint.get("state_dict")
    if type(step) is not int or step < 0 or not isinstance(state, dict):
        return False
    return all(isinstance(name, str) and isinstance(weight, Tensor) for name, weight in state.items())


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Turn any error within this context into a `UserError` about the checkpoint `path`, from which a run is restored.

    What a checkpoint of a training holds is known to Lightning, torch and each callback alone, so they have to try it.

    Raises:
        UserError: in place of the errors that wrong types, missing keys and wrong shapes cause.
    """
    try:
        yield
    except UserError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        first_line = (str(error).splitlines() or [""])[0]
        raise UserError(
            f"{path} is not what a run goes on from ({type(error).__name__}: {first_line}); move {path.parent} away and"
            " train again"
        ) from error


def read_matching_weights(path: Path, model: nn.Module) -> dict[str, Tensor]:
    """Read the weights of a model from the checkpoint of its training; they must have its names and shapes.

    Raises:
        UserError: when the checkpoint is damaged, or its weights do not fit the model.
    """
    state = read_checkpoint(path)["state_dict"]
    stored = {name.removeprefix(OF_MODEL): weight for name, weight in state.items() if name.startswith(OF_MODEL)}
    shapes = [{name: tensor.shape for name, tensor in weights.items()} for weights in (stored, model.state_dict())]
    wrong = {name for name, _ in shapes[0].items() ^ shapes[1].items()}
    if wrong:
        line = (
            f"{path} holds another model than its config.yaml describes: {sorted(wrong)[0]} does not fit;"
            " train again, or bring the run's own files back"
        )
        raise UserError(line, kind="other_model", key=path.name, value=sorted(wrong)[0])
    return stored


def _check_archive(path: Path) -> None:
    """Refuse an archive with a wrong checksum, which `torch.load` would ignore."""
    if not path.exists():
        raise ValueError("there is no such file")
    with zipfile.ZipFile(regular_file(path, remedy=MOVE_AWAY)) as archive:
        damaged = archive.testzip()
    if damaged:
        raise ValueError(f"{damaged} in it is damaged")


@dataclass(frozen=True, kw_only=True)
class BestDevPass:
    """The best dev pass of a run so far: accuracy in [0, 1], optimizer steps before it, hash of its checkpoint."""

    accuracy: float
    step: int
    sha256: str


BEST_DEV_PASS = TypeAdapter(BestDevPass)


def best_dev_pass(folder: Path) -> BestDevPass | None:
    """Find the best dev pass of the run in `folder`, whose weights are in `best.ckpt`; None before the first pass.

    Raises:
        UserError: when `best.ckpt` is missing or has another hash, or `last.ckpt` cannot be resumed from.
    """
    return best_of(read_checkpoint(folder / LAST), folder) if (folder / LAST).exists() else None


def best_of(last: dict[str, Any], folder: Path) -> BestDevPass | None:
    """Find the best dev pass as `best_dev_pass` does, from what is in `last.ckpt`.

    Raises:
        UserError: as `best_dev_pass` does.
    """
    with checkpoint_errors(folder / LAST):
        stored = last["callbacks"]["ResumePoint"]["best"]
        if stored is None:
            return None
        best = BEST_DEV_PASS.validate_python(stored)
    if _has_hash_of(folder / NEXT_BEST, best):
        with suppress(FileNotFoundError):  # another process of this run has renamed it already
            os.replace(folder / NEXT_BEST, folder / BEST)
    if not _has_hash_of(folder / BEST, best):
        raise UserError(
            f"{folder / BEST} is missing or not the one of step {best.step}, which was the best on dev; bring that"
            f" file back, or move {folder} away and train again"
        )
    return best


def _has_hash_of(path: Path, best: BestDevPass) -> bool:
    try:
        return sha256(path) == best.sha256
    except FileNotFoundError:
        return False
