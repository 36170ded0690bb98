"""The learning-rate schedules of the recipes."""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR

from lra.base.option_types import AtLeastTwo, PositiveFraction, PositiveUpToOne


def one_cycle(optimizer: Optimizer, *, steps: AtLeastTwo, warmup_fraction: PositiveFraction) -> OneCycleLR:
    """Make OneCycleLR as the released Nyströmformer code uses it: linear, with torch's defaults otherwise.

    During the warm-up, the learning rate rises from 1/25 of the optimizer's `lr` to `lr`. Then it falls to nearly 0 at
    the last step. Adam's beta1 goes from .95 to .85 and back to .95.

    A warm-up of one step means no warm-up: the first step has the peak rate.

    Args:
        optimizer: the `lr` of each of its parameter groups is that group's peak rate.
        steps: optimizer steps of the whole run, at least 2, because the last step has nearly no rate.
        warmup_fraction: fraction of `steps` before the peak, in (0, 1).
    """
    assert 0 < warmup_fraction < 1, warmup_fraction
    if math.isclose(warmup_fraction * steps, 1):  # torch would divide by the number of warm-up steps, which is 0
        warmup_fraction = (1 - 1e-6) / steps
    peak = [group["lr"] for group in optimizer.param_groups]
    return OneCycleLR(optimizer, max_lr=peak, total_steps=steps, pct_start=warmup_fraction, anneal_strategy="linear")


def cosine(
    optimizer: Optimizer, *, steps: AtLeastTwo, warmup_fraction: PositiveFraction, trained_fraction: PositiveUpToOne
) -> LambdaLR:
    """Make the schedule of S4's code: a linear warm-up from 0, then half a cosine, which ends at 0 (transformers').

    Step k, from 0, has the factor k / W for k < W, and (1 + cos(π (k - W) / (S - W))) / 2 from then on, with S steps of
    the schedule and W of the warm-up.

    Args:
        optimizer: the `lr` of each of its parameter groups is that group's peak rate.
        steps: optimizer steps of the whole run.
        warmup_fraction: W / S, in (0, 1).
        trained_fraction: `steps` / S, in (0, 1]: a run may end before its schedule.
    """
    whole = round(steps / trained_fraction)
    warmup = round(warmup_fraction * whole)

    def factor(step: int) -> float:
        if step < warmup:
            return step / warmup
        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, whole - warmup))))

    return LambdaLR(optimizer, factor)
