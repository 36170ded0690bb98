"""Make an optimizer for a model, with the parameter groups that a mixer or a recipe configures."""

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

from torch import nn
from torch.optim import Optimizer

from lra.types import UserError

FRACTION = "lr_fraction"


def group_parameters(
    model: nn.Module, make_optimizer: Callable[[Any], Optimizer], groups: Mapping[str, Mapping[str, object]]
) -> Optimizer:
    """Make the optimizer for a model's parameters, which have names such as `encoder.blocks.0.mixer.out.bias`.

    The groups have keys such as `recipe.parameter_groups.biases`. A group has `match`, a regular expression that is
    searched for in the parameters' names, and settings of the optimizer for these parameters, such as `weight_decay` or
    `lr`. In place of `lr` it may have `lr_fraction`, a fraction of the optimizer's own learning rate. A parameter
    belongs to the first group that matches; a parameter in no group has the optimizer's own settings.

    Raises:
        UserError: when a group has no valid `match` or matches no parameter, has a setting that the optimizer does not
            know, or has an `lr_fraction` that is not above 0 or stands beside `lr`.
    """
    if not groups:
        return make_optimizer(model.parameters())
    members: dict[str | None, list[nn.Parameter]] = {None: []} | {name: [] for name in groups}
    for parameter_name, parameter in model.named_parameters():
        fitting = (name for name, group in groups.items() if re.search(_pattern(name, group), parameter_name))
        members[next(fitting, None)].append(parameter)
    empty = [name for name in groups if not members[name]]
    if empty:
        pattern = groups[empty[0]]["match"]
        raise UserError(f"{empty[0]}.match={pattern} matches none of the model's parameters")
    rest = [{"params": members[None]}] if members[None] else []
    grouped = [{**_settings(group), "params": members[name]} for name, group in groups.items()]
    optimizer = make_optimizer([*rest, *grouped])
    for (name, group), parameter_group in zip(groups.items(), optimizer.param_groups[len(rest) :], strict=True):
        unknown = _settings(group).keys() - optimizer.defaults.keys()
        if unknown:
            known = ", ".join(sorted(optimizer.defaults))
            line = f"{name}.{min(unknown)} is not known to {type(optimizer).__name__}; it has {known}, and lr_fraction"
            raise UserError(line)
        if FRACTION in group:
            parameter_group["lr"] = _rate(name, group, optimizer)
    return optimizer


def fused_where_possible(make_optimizer: Callable[..., Optimizer]) -> Callable[..., Optimizer]:
    """Let an optimizer that has a fused form update all parameters in one kernel; others stay as they are.

    Adam, AdamW and SGD have one, for example. It equals the other forms up to rounding, and needs no number of the
    host's: the number of steps is counted on the device, and a gradient scaler's verdict is read there. An optimizer
    whose settings choose a form themselves (`fused`, `foreach`) keeps it.
    """
    if not isinstance(make_optimizer, partial) or {"fused", "foreach"} & make_optimizer.keywords.keys():
        return make_optimizer
    has_one = "fused" in signature(make_optimizer.func).parameters
    return partial(make_optimizer, fused=True) if has_one else make_optimizer


def _pattern(name: str, group: Mapping[str, object]) -> str:
    pattern = group.get("match") if isinstance(group, Mapping) else None  # a stored configuration may have other types
    if not isinstance(pattern, str):
        raise UserError(f'{name} needs a match of names, such as match: "bias$"')
    try:
        re.compile(pattern)
    except re.error as error:
        raise UserError(f"{name}.match={pattern} is no regular expression: {error}") from error
    return pattern


def _settings(group: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in group.items() if key not in ("match", FRACTION)}


def _rate(name: str, group: Mapping[str, object], optimizer: Optimizer) -> float:
    """Compute the rate of a group from its fraction of the optimizer's."""
    fraction, rate = group[FRACTION], optimizer.defaults.get("lr")
    if "lr" in group:
        raise UserError(f"{name} has lr={group['lr']} and {FRACTION}={fraction}; leave one of the two out")
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < math.inf:
        raise UserError(f"{name}.{FRACTION}={fraction} is not a number above 0; type for example {name}.{FRACTION}=0.1")
    if rate is None:
        raise UserError(f"{name}.{FRACTION} is of recipe.optimizer.lr, which {type(optimizer).__name__} does not have")
    return fraction * float(rate)
