"""Read and write the files that other packages read too: JSON settings, tensors in safetensors."""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError  # what torch raises; nothing here unpickles
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lra.base.checked_json import parsed_json
from lra.base.files import regular_file
from lra.types import UserError

CONFIG_JSON = "config.json"
SAFETENSORS = "model.safetensors"
TORCH_FILE = "pytorch_model.bin"  # a checkpoint of the package transformers from before safetensors
MOST_JSON_BYTES = 2**20


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Read a JSON object from a small file.

    Raises:
        UserError: when the file is missing, large, or holds something else; with the `remedy`.
    """
    _check_there(path, remedy)
    if path.stat().st_size > MOST_JSON_BYTES:
        raise UserError(f"{path} is larger than 1 MiB, which no such file is; {remedy}")
    value = parsed_json(path.read_bytes(), path, remedy)
    if not isinstance(value, dict):
        raise UserError(f"{path} holds no settings; {remedy}")
    return value


def read_tensors(path: Path, remedy: str) -> dict[str, Tensor]:
    """Read all tensors of a safetensors file onto the CPU.

    Raises:
        UserError: when the file is missing or damaged; with the `remedy`.
    """
    _check_there(path, remedy)
    try:
        return load_file(path)
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{path} cannot be read as safetensors ({error}); {remedy}") from error


def read_torch_file(path: Path, remedy: str) -> dict[str, Tensor]:
    """Read the tensors of a checkpoint that torch has written; no object of another type is ever made.

    Raises:
        UserError: when the file is missing or damaged, or holds anything but tensors; with the `remedy`.
    """
    _check_there(path, remedy)
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError as error:  # torch's own message advises to turn this protection off
        with path.open("rb") as file:
            if not file.read(2).startswith((b"PK", b"\x80")):  # a zip archive or a pickle
                raise UserError(f"{path} is no checkpoint of torch (a pointer of Git LFS?); {remedy}") from error
        raise UserError(f"{path} holds more than tensors, which is never loaded; {remedy}") from error
    except (RuntimeError, EOFError, LookupError, ValueError, TypeError, AttributeError) as error:
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path} cannot be read ({message}); {remedy}") from error
    if not isinstance(weights, dict) or not all(isinstance(weight, Tensor) for weight in weights.values()):
        raise UserError(f"{path} holds more than tensors by their names; {remedy}")
    return {str(name): weight for name, weight in weights.items()}


def first_misfit(weights: Mapping[str, Tensor], model: nn.Module) -> str | None:
    """Say how the first weight, by name, does not fit a model: `NAME has (2, 3), not (3, 3)`; None: all fit."""
    shapes = [{name: tuple(weight.shape) for name, weight in state.items()} for state in (weights, model.state_dict())]
    wrong = sorted({name for name, _ in shapes[0].items() ^ shapes[1].items()})
    if not wrong:
        return None
    has, should = (shape_of.get(wrong[0], "nothing") for shape_of in shapes)
    return f"{wrong[0]} has {has}, not {should}"


def write_tensors(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write tensors as a safetensors file; a weight that several layers share is written for each of them."""
    own = {name: weight.detach().cpu().clone().contiguous() for name, weight in weights.items()}
    save_file(own, path, metadata={"format": "pt"})


def _check_there(path: Path, remedy: str) -> None:
    if not path.exists():
        raise UserError(f"{path.parent} has no {path.name}; {remedy}")
    regular_file(path)
