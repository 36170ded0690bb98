"""Make a schedule, and refuse one that overrides the learning rates or the momentum that the recipe sets.

torch's OneCycleLR and CyclicLR set the rate of every parameter group themselves, and by default its momentum, or the
first of Adam's betas. A parameter group would lose its own rate without a word, and the record would have another one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from lra.base.option_types import as_typed
from lra.types import UserError

PEAK = "max_lr"  # what torch's schedules call the peak rate: an argument, and a value of a parameter group
MOMENTUM = "cycle_momentum"  # their argument that lets the momentum alone
KEEPS_MOMENTUM = "recipe.schedule._target_=lra.training.schedule.cosine +recipe.schedule.trained_fraction=1"
SAME = 1e-4  # relative difference of two rates of which one was typed with a few digits


def make_checked_schedule(
    make_schedule: Callable[[Optimizer], LRScheduler],
    optimizer: Optimizer,
    *,
    options: Mapping[str, object],
    usual_beta: float,
) -> LRScheduler:
    """Make the schedule of an optimizer whose parameter groups have the rates and the momentum of the recipe.

    A schedule may begin below these rates, as a warm-up does. What it may not change is their peak, where it names one,
    and their ratios.

    Args:
        make_schedule: makes it.
        optimizer: the optimizer.
        options: those of `recipe.schedule`.
        usual_beta: the first beta of recipes that choose none; a schedule may replace it, as `one_cycle` does.

    Raises:
        UserError: for a schedule that sets other rates, or replaces a momentum that was chosen.
    """
    groups = optimizer.param_groups
    rates = [float(group["lr"]) if "lr" in group else None for group in groups]
    momenta = [_momentum(group) for group in groups]
    schedule = make_schedule(optimizer)
    before = [rate for rate in rates if rate is not None]
    if len(before) == len(groups):
        _check_rates(schedule, groups, before, options)
    unchosen = _unchosen_momenta(optimizer, usual_beta)
    for was, group in zip(momenta, groups, strict=True):
        for name, value in was.items():
            if value not in unchosen[name] and _momentum(group)[name] != value:
                raise _lost_momentum(make_schedule, name, value, _momentum(group)[name])
    return schedule


def _check_rates(
    schedule: LRScheduler, groups: Sequence[Mapping[str, Any]], rates: Sequence[float], options: Mapping[str, object]
) -> None:
    """Refuse a schedule with other peaks than the rates of the groups, or with one rate for groups of several."""
    peaks = getattr(schedule, "max_lrs", None) or [group[PEAK] for group in groups if PEAK in group]
    if peaks:
        first = [group.get("initial_lr", group["lr"]) for group in groups]
        has_ratios = _alike([peak / rate for peak, rate in zip(peaks, rates, strict=True)])
        if not has_ratios or not any(_same(given, rates[0]) for given in (peaks[0], first[0])):
            raise _lost_rates(peaks, rates, options)
        return
    now = [float(group["lr"]) for group in groups]
    if min(now) > 0 and _alike(now) and not _alike(rates):
        raise _lost_rates(now, rates, options)


def _same(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=SAME)


def _alike(values: Sequence[float]) -> bool:
    return all(_same(value, values[0]) for value in values)


def _lost_rates(given: Sequence[float], rates: Sequence[float], options: Mapping[str, object]) -> UserError:
    wanted, instead = (_as_typed_rates(each) for each in (rates, given))
    what = "the learning rate" if len(rates) == 1 else f"the learning rates of the {len(rates)} parameter groups"
    line = f"recipe.schedule sets {what} itself, {instead} in place of {wanted}"
    if PEAK not in options:
        advice = "it should multiply the rate that each group has, as torch.optim.lr_scheduler.LambdaLR does"
        return UserError(f"{line}; {advice}", kind="no_effect", key="recipe.optimizer.lr", value=rates[0])
    key, right = f"recipe.schedule.{PEAK}", f"++recipe.schedule.{PEAK}={wanted}"
    other = f", or recipe.optimizer.lr={instead}" if len(rates) == 1 else ""
    return UserError(f"{line}; type {right}{other}", kind="no_effect", key=key, value=options[PEAK], right=right)


def _as_typed_rates(rates: Sequence[float]) -> str:
    """Write rates with six digits: one as a number, several as a list."""
    rounded = [float(f"{rate:.6g}") for rate in rates]
    return as_typed(rounded[0] if len(rounded) == 1 else rounded)


def _momentum(group: Mapping[str, Any]) -> dict[str, float]:
    """What a parameter group has of `momentum` and `betas`, of which a schedule moves the first one."""
    momenta = {"momentum": group.get("momentum"), "betas": group["betas"][0] if "betas" in group else None}
    return {name: value for name, value in momenta.items() if value is not None}


def _unchosen_momenta(optimizer: Optimizer, usual_beta: float) -> dict[str, tuple[float | None, ...]]:
    """The values that nobody has chosen: those of the recipes, and the defaults of the optimizer's class."""
    defaults = {name: each.default for name, each in signature(type(optimizer)).parameters.items()}
    betas = defaults.get("betas")
    first = betas[0] if isinstance(betas, tuple | list) else None
    return {"momentum": (defaults.get("momentum"),), "betas": (usual_beta, first)}


def _lost_momentum(make_schedule: Callable[..., object], name: str, value: float, instead: float) -> UserError:
    maker = make_schedule.func if isinstance(make_schedule, partial) else make_schedule
    can_keep = MOMENTUM in signature(maker).parameters
    right = f"++recipe.schedule.{MOMENTUM}=false" if can_keep else KEEPS_MOMENTUM
    what = "first of the optimizer's betas" if name == "betas" else "optimizer's momentum"
    line = f"the {what}, {as_typed(value)}, has no effect: recipe.schedule moves it, from {as_typed(instead)} on"
    key = f"recipe.optimizer.{name}"
    return UserError(f"{line}; leave it out, or type {right}", kind="no_effect", key=key, value=value, right=right)
