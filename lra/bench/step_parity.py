"""Whether a device trains as a CPU does in float32: the losses of the first steps, from the same weights and batches.

Dropout has to be off, because a GPU draws other masks than a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lra.timing.harness_step import make_step
from lra.training.module import ClassifierModule
from lra.types import Batch

TOLERANCE = 1e-5  # of the relative difference of a loss: float32 rounds by 1e-7, and bf16 differs by 1e-4 to 1e-3


def losses(module: ClassifierModule, batches: Sequence[Batch], precision: str) -> torch.Tensor:
    """Train one step on each batch; the loss of each, in float64 on the CPU.

    Args:
        module: the classifier, on its device, in training mode.
        batches: on the same device.
        precision: of Lightning's Trainer.
    """
    step = make_step(module, batches, parts=1, precision=precision)
    return torch.stack([step().double() for _ in batches]).cpu()


def relative_difference(expected: torch.Tensor, actual: torch.Tensor) -> float:
    """Return the largest difference of two losses of the same step, divided by the expected loss; NaN if one is NaN."""
    return float(((actual - expected).abs() / expected.abs()).max())


def draws(module: ClassifierModule, batch: Batch) -> bool:
    """Tell whether training draws random numbers: the loss then depends on them, and devices cannot be compared."""
    with torch.no_grad(), torch.random.fork_rng():
        outputs = []
        for seed in (0, 1):
            torch.manual_seed(seed)
            outputs.append(module(batch))
    return not torch.equal(*outputs)
