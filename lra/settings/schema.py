"""Which type is declared for an option of a composed configuration, and what is wrong with its values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_type_hints

from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

from lra.arguments import OPEN, WrongValueError, allows, declared
from lra.group_files import OF_THE_FILE
from lra.option_groups import GROUPS, OF_IMAGES, Images, ParameterGroup
from lra.pass_through import TARGET
from lra.types import UserError

LIGHTNINGS_TRAINER = "pytorch_lightning.Trainer"
NOT_CHECKED = ("hydra", "paths", "task.codec", "task.open_source", "task.sizes")
PARAMETER_GROUP = re.compile(r"(recipe|mixer)\.parameter_groups\.[^.]+")


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
        made = get_object(target)
    except Exception:  # the user's module may raise anything when it is imported
        return {}, True
    return declared(made) if callable(made) else ({}, True)


def kind_of(cfg: DictConfig, key: str, *, classes: bool = True) -> object:
    """Find the declared type of an option, or `OPEN`.

    Args:
        cfg: the configuration.
        key: the option, as a dotted path.
        classes: whether to look into the signatures of classes, which are imported for that.
    """
    group, _, name = key.rpartition(".")
    kinds = declared_in_group(group)
    if group in ("task", "task.data") and cfg.task.get("name") in OF_IMAGES:
        kinds = {**kinds, **get_type_hints(Images)}
    if name in kinds or name in OF_THE_FILE or not classes:
        return kinds.get(name, OPEN)
    target = class_of(cfg, group)
    return declared_by_class(target)[0].get(name, OPEN) if target else OPEN


def class_of(cfg: DictConfig, group: str) -> str | None:
    """Name the class that takes the options of a group as arguments; None for a group without one."""
    target = OmegaConf.select(cfg, f"{group}.{TARGET}") if group not in ("", "trainer") else None
    return target if isinstance(target, str) else LIGHTNINGS_TRAINER if group == "trainer" else None


def check_values(cfg: DictConfig, *, classes: bool) -> None:
    """Refuse a configuration with a value that no declared type allows.

    Args:
        cfg: the configuration; what an interpolation stands for is checked.
        classes: whether to check the arguments of classes too, which are imported for that.

    Raises:
        WrongValueError: for the first wrong value.
        UserError: for an argument that a class does not take.
    """
    _check_group(cfg, "", classes=classes)


def check_arguments(cfg: DictConfig, group: str) -> None:
    """Refuse options of a group that its class does not take, or not with their values.

    Raises:
        WrongValueError: for the first wrong value.
        UserError: for an argument that the class does not take.
    """
    _check_group(cfg, group, classes=True)


def _check_group(cfg: DictConfig, group: str, *, classes: bool) -> None:
    for key, value in options(cfg, group):
        kind = kind_of(cfg, key, classes=classes)
        is_open_to_null = kind is str and value is None  # a command's own file says null where nothing is chosen
        if kind is not OPEN and not allows(kind, value) and not is_open_to_null:
            raise WrongValueError(key, value, kind)
        if kind is OPEN and classes:
            _check_is_argument(cfg, key)


def _check_is_argument(cfg: DictConfig, key: str) -> None:
    """Refuse an option that the class of its group does not take."""
    group, _, name = key.rpartition(".")
    target = class_of(cfg, group)
    if target in (None, LIGHTNINGS_TRAINER) or name in (*OF_THE_FILE, "parameter_groups"):
        return
    kinds, takes_others = declared_by_class(str(target))
    if name not in kinds and not takes_others:
        has = [each for each in kinds if each in OmegaConf.select(cfg, group)] or list(kinds)
        raise UserError(f"{target} takes no {name}; it takes {', '.join(has)}")


def options(cfg: DictConfig, group: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each option with its value, interpolations resolved; of a group that follows, an empty one."""
    node = OmegaConf.select(cfg, group) if group else cfg
    for name in map(str, node):
        key = f"{group}.{name}".lstrip(".")
        if key in NOT_CHECKED or OmegaConf.is_missing(node, name):
            continue
        value = OmegaConf.select(cfg, key)
        if isinstance(value, DictConfig):
            yield key, {}
            yield from options(cfg, key)
        else:
            yield key, OmegaConf.to_container(value) if isinstance(value, ListConfig) else value
