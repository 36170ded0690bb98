"""Dropout whose masks cost little on a CPU.

torch draws one Bernoulli number per entry, which is a quarter of a small model's step. Here one 64-bit number from the
same generator decides about four entries, so that masks still repeat with torch's random state.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import dropout as torch_dropout

LEVELS = 1 << 16  # an entry's fate is one 16-bit number: a rate is met to 1 / 131072


def dropout(x: Tensor, rate: float) -> Tensor:
    """Set entries to 0 with probability `rate`, in [0, 1); the others grow by 1 / (1 − rate). Any shape."""
    if rate == 0:
        return x
    if x.device.type != "cpu":
        return torch_dropout(x, rate)
    out: Tensor = _Dropout.apply(x, rate)
    return out


def keep_mask(shape: torch.Size, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Bool on the CPU, False with probability `rate`, independently; drawn from torch's generator or the given one."""
    count = shape.numel()
    numbers = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(1 << 63), None, generator=generator)
    return numbers.view(torch.int16)[:count].view(shape) >= _threshold(rate) - LEVELS // 2


def keep_scale(rate: float) -> float:
    """What kept entries are multiplied with, so that the mean stays: from the rate as it is met."""
    return LEVELS / (LEVELS - _threshold(rate))


def _threshold(rate: float) -> int:
    return round(rate * LEVELS)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        keep, ctx.scale = keep_mask(x.shape, rate), keep_scale(rate)
        ctx.save_for_backward(keep)
        return torch.where(keep, x, 0).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (keep,) = ctx.saved_tensors
        return torch.where(keep, grads[0], 0).mul_(ctx.scale), None
