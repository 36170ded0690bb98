"""What a user may write after a verb: known keys, with values of the kind that their defaults have."""

from __future__ import annotations

import difflib
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from lra.build import load_config
from lra.paths import conf_dir
from lra.types import UserError

KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def check(verb: str, words: list[str], *, sweep: bool) -> None:
    """Refuse unknown groups, choices, keys and kinds of value, before anything runs.

    Args:
        verb: whose configuration it is.
        words: the overrides, as typed.
        sweep: whether -m was typed, so that a setting may have several values.

    Raises:
        UserError: for the first that is wrong, with the nearest right one.
    """
    for word in words:
        if not word.startswith("-") and "=" not in word:
            raise UserError(f"{word!r} is no setting; settings are key=value, as in: lra {verb} task=listops")
    parsed = OverridesParser.create().parse_overrides([word for word in words if not word.startswith("-")])
    several = next((one.input_line for one in parsed if one.is_sweep_override()), None)
    if several and not sweep:
        raise UserError(f"{several} names several values; to run each type: lra {verb} -m {several}")
    choices = [one for one in parsed if (conf_dir() / one.key_or_group).is_dir()]
    for one in choices:
        known = sorted(path.stem for path in (conf_dir() / one.key_or_group).glob("*.yaml") if path.stem != "base")
        for value in _values(one):
            if str(value) not in [*known, "None", "null"]:
                raise UserError(f"{one.key_or_group}={value} is not known; {_meant(str(value), known)}")
    first = [f"{one.key_or_group}={_values(one)[0]}" for one in choices if one.is_sweep_override()]
    whole = [one.input_line for one in choices if not one.is_sweep_override() and one.input_line]
    defaults = load_config(verb, [*whole, *first])
    for one in parsed:
        if one not in choices and not one.is_add() and not one.is_delete() and not one.is_hydra_override():
            _check_value(defaults, one)


def _check_value(defaults: DictConfig, one: Override) -> None:
    key = one.key_or_group
    known = _leaves(OmegaConf.to_container(defaults))
    if key not in known:
        raise UserError(f"{key} is no setting; {_meant(key, list(known))}; lra train --cfg job prints all")
    default = OmegaConf.select(defaults, key) if not OmegaConf.is_missing(defaults, key) else None
    for value in _values(one):
        if value is not None and not _fits(value, type(default)):
            raise UserError(f"{key}={value} is not {KINDS[type(default)]}; the default is {key}={str(default).lower()}")


def _fits(value: Any, kind: type) -> bool:
    """Whether a value may stand where the default is of this kind."""
    if kind is str:
        return not isinstance(value, dict | list)  # a folder may be called 2024
    if kind is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return kind not in KINDS or isinstance(value, kind)


def _values(one: Override) -> list[Any]:
    return list(one.sweep_iterator()) if one.is_sweep_override() else [one.value()]


def _leaves(node: Any, prefix: str = "") -> dict[str, Any]:
    """Every key of a tree, branches too, with dots."""
    found = {}
    for key, value in node.items():
        found[f"{prefix}{key}"] = value
        if isinstance(value, dict):
            found |= _leaves(value, f"{prefix}{key}.")
    return found


def _meant(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"choose one of {', '.join(known)}" if len(known) < 12 else "no name is like it"
