"""Time whole training steps and evaluation batches as a run computes them, without the harness.

The clock waits for the device only before the first and after the last step: a GPU then works while Python prepares its
next operators, as in a run.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence

import torch
from torch.nn.functional import cross_entropy

from lra.training.counting import synchronized_seconds
from lra.training.module import ClassifierModule
from lra.training.precision import DOUBLE, MIXED, autocast_of
from lra.types import Batch

WARM_UP = 3  # steps: the first allocate memory and load kernels, or compile
STEP_TURNS = 3


def product_dtype(precision: str) -> torch.dtype:
    """Return the type of the factors of matrix products."""
    return MIXED.get(precision, torch.float64 if precision == DOUBLE else torch.float32)


def make_step(
    module: ClassifierModule, batches: Sequence[Batch], *, parts: int, precision: str
) -> Callable[[], torch.Tensor]:
    """Make a function that trains one step and returns its loss, which stays on the device.

    Args:
        module: the classifier, on its device.
        batches: parts of batches, on the same device; they are used again and again.
        parts: number of parts of a step.
        precision: of Lightning's Trainer.
    """
    optimizer, endless = module.make_optimizer(), itertools.cycle(batches)

    def step() -> torch.Tensor:
        total = torch.zeros((), device=module.device)
        for batch in itertools.islice(endless, parts):
            with autocast_of(precision, module.device):
                loss = cross_entropy(module(batch), batch.label)
            (loss / parts).backward()
            total = total + loss.detach() / parts
        optimizer.step()
        optimizer.zero_grad()
        return total

    return step


def seconds_per_step(step: Callable[[], object], device: torch.device, *, steps: int) -> list[float]:
    """Time `STEP_TURNS` times `steps` steps, after a warm-up; the seconds of one step in each turn."""
    for _ in range(WARM_UP):
        step()
    seconds = []
    for _ in range(STEP_TURNS):
        began = synchronized_seconds(device)
        for _ in range(steps):
            step()
        seconds.append((synchronized_seconds(device) - began) / steps)
    return seconds


def evaluation_seconds(module: ClassifierModule, batches: Sequence[Batch], precision: str) -> float:
    """Median seconds of a batch's forward pass in evaluation."""
    seconds = []
    module.eval()
    with torch.inference_mode(), autocast_of(precision, module.device):
        module(batches[0])
        for batch in batches:
            began = synchronized_seconds(module.device)
            module(batch)
            seconds.append(synchronized_seconds(module.device) - began)
    module.train()
    return statistics.median(seconds)
