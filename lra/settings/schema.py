"""Which type is declared for an option of a composed configuration, and what is wrong with its values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_type_hints

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from lra.base.arguments import ANY_VALUE, WrongValueError, check_options, declared_types, required_arguments
from lra.base.paths import NO_OPTION_KEYS
from lra.runs.schema import TARGET
from lra.settings.option_groups import GROUPS, OF_IMAGES, Images, ParameterGroup
from lra.types import UserError

LIGHTNINGS_TRAINER = "pytorch_lightning.Trainer"
NOT_CHECKED = ("hydra", "paths", "codec", "open_source", "sizes")
ENVIRONMENT = re.compile(r"\$\{oc\.env:(\w+)")  # in a file: the variable that a value is from
PARAMETER_GROUP = re.compile(r"(recipe|mixer)\.parameter_groups\.[^.]+")


class UnknownArgumentError(UserError):
    """An option that the class of its group does not take."""

    def __init__(self, owner: str, key: str, declared: Mapping[str, object]):
        line = f"{owner} takes no {key.rpartition('.')[2]}; it takes {', '.join(declared)}"
        super().__init__(line, kind="unknown_option", key=key, right=list(declared))


@cache
def declared_in_group(group: str) -> dict[str, object]:
    """Collect the declared types of the options of a group without a class; none for another group."""
    declaration = ParameterGroup if PARAMETER_GROUP.fullmatch(group) else GROUPS.get(group)
    return get_type_hints(declaration, include_extras=True) if declaration else {}


@cache
def declared_by_class(target: str) -> tuple[dict[str, object], bool]:
    """Collect the declared types of the arguments of a class, and whether it takes others.

    A class that cannot be imported takes any: making it says why.
    """
    try:
        constructor = get_object(target)
    except Exception:  # the user's module may raise anything when it is imported
        return {}, True
    return declared_types(constructor) if callable(constructor) else ({}, True)


@cache
def needed_by_class(target: str) -> list[str]:
    """List the options that a class needs: its keyword arguments without a default; none of a class of no signature."""
    constructor = get_object(target)
    return required_arguments(constructor) if callable(constructor) else []


def class_of(cfg: DictConfig, group: str) -> str | None:
    """Name the class that takes the options of a group as arguments; None for a group without one."""
    if group == "trainer":
        return LIGHTNINGS_TRAINER if set(cfg.trainer) - declared_in_group(group).keys() else None
    target = OmegaConf.select(cfg, f"{group}.{TARGET}") if group else None
    return target if isinstance(target, str) else None


def kinds_of(cfg: DictConfig, group: str, *, classes: bool = True) -> tuple[dict[str, object], str | None]:
    """Collect the declared types of a group's options, and the class that takes them, if it takes no others.

    Args:
        cfg: the configuration.
        group: a group, as a dotted path; "" is that of the command's own options.
        classes: whether to look into the signatures of classes, which are imported for that.
    """
    target = class_of(cfg, group) if classes else None
    of_class, takes_others = declared_by_class(target) if target else ({}, True)
    kinds = of_class | declared_in_group(group)
    if group in ("task", "task.data") and cfg.task.get("name") in OF_IMAGES:
        kinds |= get_type_hints(Images)
    return kinds, None if takes_others or target == LIGHTNINGS_TRAINER else target


def check_values(cfg: DictConfig, *, classes: bool, within: tuple[str, ...] | None = None) -> None:
    """Refuse a configuration with a value that no declared type allows.

    Args:
        cfg: the configuration; what an interpolation stands for is checked.
        classes: whether to check the arguments of classes too, which are imported for that.
        within: the groups to check, with those in them; None: all.

    Raises:
        WrongValueError: for the first wrong value.
        UnknownArgumentError: for an argument that a class does not take.
    """
    tops = within or tuple(str(name) for name in cfg if name not in NOT_CHECKED)
    trees = {name: OmegaConf.select(cfg, name) for name in tops if not OmegaConf.is_missing(cfg, name)}
    plain = {
        name: OmegaConf.to_container(tree, resolve=True) if OmegaConf.is_config(tree) else tree
        for name, tree in trees.items()
    }
    values: dict[str, object] = {}
    kinds: dict[str, object] = {}
    for group, options in _groups("", plain):
        declared_here, owner = kinds_of(cfg, group, classes=classes)
        for name, value in options.items():
            if name in NO_OPTION_KEYS:
                continue
            key, kind = f"{group}.{name}".lstrip("."), declared_here.get(name, ANY_VALUE)
            if owner and name not in declared_here:
                raise UnknownArgumentError(owner, key, declared_here)
            if group or kind is not str or value is not None:  # a command's file says null for no choice
                values[key], kinds[key] = value, kind
    try:
        check_options(values, kinds)
    except WrongValueError as error:
        group, _, name = str(error.key).rpartition(".")
        written = OmegaConf.to_container(OmegaConf.select(cfg, group) if group else cfg)
        assert isinstance(written, dict)
        variable = ENVIRONMENT.search(str(written[name]))
        raise error.reworded(f"{variable[1]}: {error}") if variable else error from None


def _groups(group: str, values: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield group, values
    for name, value in values.items():
        if isinstance(value, dict) and name not in NOT_CHECKED:
            yield from _groups(f"{group}.{name}".lstrip("."), value)
