"""Whether a device trains as a CPU does: the losses of some steps from the same weights, on the same batches.

Dropout is off, because a GPU draws other masks than a CPU. The reference is the CPU in float64. The CPU's own float32
losses differ from it by rounding, which training may amplify. This difference is measured for each cell. A device may
differ by `MARGIN` times as much, because it sums in another order and approximates the exponential function otherwise.
In a precision of fewer digits, rounding is as much larger as its unit is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lra.bench.step_time import make_step
from lra.training.module import ClassifierModule
from lra.types import Batch

MARGIN = 10.0
UNIT = {  # half the distance from 1 to the next number
    "64-true": 2.0**-53,
    "32-true": 2.0**-24,
    "tf32": 2.0**-11,
    "bf16-mixed": 2.0**-8,
}


@dataclass(frozen=True, kw_only=True)
class StepParity:
    """The largest differences of losses from those of the CPU in float64.

    Attributes:
        difference: of the device.
        rounding: of the CPU in float32.
        tolerance: the largest that `difference` may be.
    """

    difference: float
    rounding: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the device trains as the CPU does; NaN never does."""
        return self.difference <= self.tolerance


def losses(module: ClassifierModule, batches: Sequence[Batch], precision: str) -> torch.Tensor:
    """Train one step on each batch; the loss of each, in float64 on the CPU."""
    step = make_step(module, batches, parts=1, precision=precision)
    return torch.stack([step().double() for _ in batches]).cpu()


def step_parity(exact: torch.Tensor, on_cpu: torch.Tensor, on_device: torch.Tensor, *, precision: str) -> StepParity:
    """Compare the losses of the CPU in float64, of the CPU in float32, and of the device."""
    single = UNIT["32-true"]
    rounding = max(float((on_cpu - exact).abs().max()), single * float(exact.abs().max()))
    return StepParity(
        difference=float((on_device - exact).abs().max()),
        rounding=rounding,
        tolerance=MARGIN * rounding * UNIT[precision] / single,
    )


def draws(module: ClassifierModule, batch: Batch) -> bool:
    """Tell whether training draws random numbers: the loss then depends on them, and devices cannot be compared."""
    with torch.no_grad(), torch.random.fork_rng():
        outputs = []
        for seed in (0, 1):
            torch.manual_seed(seed)
            outputs.append(module(batch))
    return not torch.equal(*outputs)
