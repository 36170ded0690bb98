"""Check the words that add a setting (`+key=value`, `++key=value`) or take one away (`~key`)."""

from __future__ import annotations

from collections.abc import Sequence

from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from lra.arguments import OPEN, check_options
from lra.pass_through import TARGET
from lra.settings.additions import ENTRIES
from lra.settings.schema import class_of, declared_by_class
from lra.settings.unknown_options import PRINT, keys_of, unknown_setting
from lra.types import UserError

PARAMETER_GROUPS = ("recipe.parameter_groups.", "mixer.parameter_groups.")
CHECKED_LATER = tuple(f"{group}." for group in (*ENTRIES, "trainer"))  # by `check_additions`
REPLACEABLE = ("recipe.optimizer.", "recipe.schedule.")  # arguments of a class that the user may have replaced


def gives_value(override: Override, defaults: DictConfig) -> bool:
    """Tell whether a word gives a setting another value, as `key=value` does, and `++key=value` if the key is there."""
    if override.type is OverrideType.FORCE_ADD:
        return override.key_or_group in keys_of(defaults)
    return override.type is OverrideType.CHANGE


def check_change(override: Override, known: Sequence[DictConfig], typed: Sequence[Override] = ()) -> None:
    """Refuse an added setting that nothing would read, and the removal of one that every run needs.

    What a class is made from may be changed freely: the class itself refuses what it does not take.

    Args:
        override: a word with `+`, `++` or `~`.
        known: the default settings; several in a sweep.
        typed: all words, which may replace a class.

    Raises:
        UserError: with the word, and what is right.
    """
    key, word = override.key_or_group, override.input_line
    there = any(key in keys_of(cfg) for cfg in known)
    if override.is_delete():
        if not there:
            raise unknown_setting(key, known[0])
        if not _is_removable(key, known):
            chosen = f"{key}.{TARGET}=CLASS" if f"{key}.{TARGET}" in keys_of(known[0]) else f"{key}=VALUE"
            line = f"{word} takes away a setting that every run needs; to change it type {chosen}"
            raise UserError(line, kind="needed", key=key, right=chosen)
    elif there:
        right = str(word).lstrip("+")
        line = f"{word} adds a setting that is there already; to change it type {right}"
        raise UserError(line, kind="there_already", key=key, right=right)
    elif not key.startswith((*PARAMETER_GROUPS, *CHECKED_LATER)):
        _check_argument(override, known, typed)


def _is_removable(key: str, known: Sequence[DictConfig]) -> bool:
    """Tell whether a run can do without a setting: an argument of the optimizer, a callback, or a logger."""
    group, _, name = key.partition(".")
    is_entry = group in ENTRIES and "." not in name
    has_class = is_entry and any(OmegaConf.select(cfg, f"{key}.{TARGET}") is not None for cfg in known)
    return has_class or key == "logger.wandb" or key.startswith((*PARAMETER_GROUPS, *REPLACEABLE))


def _check_argument(override: Override, known: Sequence[DictConfig], typed: Sequence[Override]) -> None:
    """Refuse an added setting that is no argument of a class, nor a part of one."""
    replaced = {each.key_or_group: str(each.value()) for each in typed if each.key_or_group.endswith(f".{TARGET}")}
    group, name, target = override.key_or_group, "", None
    while group and target is None:
        group, _, name = group.rpartition(".")
        classes = (replaced.get(f"{group}.{TARGET}") or class_of(cfg, group) for cfg in known)
        target = next((found for found in classes if found), None)
    if target is None or override.key_or_group.endswith(f".{TARGET}"):
        line = f"{override.input_line} adds a setting that nothing reads; {PRINT}"
        raise UserError(line, kind="unknown_option", key=override.key_or_group)
    kinds, takes_others = declared_by_class(target)
    value = override.value()
    if override.key_or_group != f"{group}.{name}" or "${" in str(value):  # a part of an argument, or not known yet
        kinds = dict.fromkeys(kinds, OPEN)
    check_options({name: value}, kinds, group=group, owner=None if takes_others else target)
