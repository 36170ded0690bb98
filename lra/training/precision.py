"""What a precision's name means for float32: the numbers of the IEEE standard, or a GPU's shorter TensorFloat-32.

TF32 products read float32 with 10 bits of 23 after the point, and add in float32. torch uses them for convolutions
unless it is told otherwise, so both words are said here.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import torch
from torch import nn

from lra.types import UserError

Weights = TypeVar("Weights", bound=nn.Module)
TF32, DOUBLE = "tf32", "64-true"
MIXED = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
FIRST_WITH_TF32 = (8, 0)  # compute capability of NVIDIA's Ampere generation


def set_float32(precision: str) -> None:
    """Let this process compute float32 products and convolutions in TF32 for `tf32`, else exactly."""
    shorter = precision == TF32
    torch.set_float32_matmul_precision("high" if shorter else "highest")
    torch.backends.cudnn.allow_tf32 = shorter


def lightnings_name(precision: str) -> str:
    """Return the name that Lightning has for a precision: `tf32` is float32 to it."""
    return "32-true" if precision == TF32 else precision


def autocast_of(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Make the context in which a forward pass has a precision of Lightning's Trainer."""
    return torch.autocast(device.type, dtype=MIXED[precision]) if precision in MIXED else nullcontext()


def with_weights_of(precision: str, module: Weights) -> Weights:
    """Convert the weights to the type that a precision of Lightning's Trainer has: float64 for `64-true`."""
    return module.double() if precision == DOUBLE else module


def check_gpu(precision: str) -> None:
    """Refuse a precision that the GPU lacks: torch would compute in another one.

    Raises:
        UserError: for `tf32` on a GPU before Ampere.
    """
    if precision == TF32 and torch.cuda.get_device_capability() < FIRST_WITH_TF32:
        raise UserError(
            f"trainer.precision=tf32, but {torch.cuda.get_device_name()} has no TF32; type trainer.precision=32-true"
        )
