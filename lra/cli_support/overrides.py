"""Check the overrides that a user types: known keys only, with values of the same type as their defaults."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf

from lra.cli_support.settings import NUMBERS, check_value, has_rule
from lra.config import ATTENTION, load_config
from lra.paths import conf_dirs, conf_names
from lra.types import UserError

KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
CONTAINERS: dict[type, type] = {ListConfig: list, DictConfig: dict}
KINDS |= {ListConfig: "a list", DictConfig: "a group of settings"}


def check(verb: str, words: list[str], *, sweep: bool) -> list[str]:
    """Refuse unknown groups, choices and keys, and values of the wrong type, before anything runs.

    Args:
        verb: the verb, which names the configuration.
        words: the overrides, as typed.
        sweep: whether a setting may have several values (the user typed -m).

    Returns:
        The words. A number for a text setting, as in run_group=2024, is put in quotes.

    Raises:
        UserError: for the first wrong word, with the most similar correct one.
    """
    for word in words:
        if not word.startswith("-") and "=" not in word:
            raise UserError(f"{word!r} is no setting; settings are key=value, as in: lra {verb} task=listops")
    parsed = [_parse(word) for word in words if not word.startswith("-")]
    several = next((override.input_line for override in parsed if override.is_sweep_override()), None)
    if several and not sweep:
        raise UserError(f"{several} names several values; to run each type: lra {verb} -m {several}")
    choices = [override for override in parsed if _is_group(override.key_or_group)]
    for override in choices:
        known = conf_names(override.key_or_group)
        for value in _values(override):
            if str(value) not in known and not (value is None and _is_optional(verb, override.key_or_group)):
                raise UserError(f"{_word(override, value)} is not known; {_meant(str(value), known)}")
    first = [f"{override.key_or_group}={_values(override)[0]}" for override in choices if override.is_sweep_override()]
    whole = [override.input_line for override in choices if not override.is_sweep_override() and override.input_line]
    defaults = _defaults(verb, (*whole, *first))
    checked = [word for word in words if word.startswith("-")]
    for override in parsed:
        ours = (
            override not in choices
            and not override.is_add()
            and not override.is_delete()
            and not override.is_hydra_override()
        )
        checked.append(_checked(defaults, override) if ours else str(override.input_line))
    return checked


def check_mixer(words: list[str]) -> None:
    """Refuse `attention` settings beside a mixer that is not self-attention: they would have no effect.

    Verbs over many runs do not call this: they may compare an attention with another mixer.

    Raises:
        UserError: when both are typed.
    """
    parsed = [_parse(word) for word in words if "=" in word and not word.startswith("-")]
    mixers = [
        override
        for override in parsed
        if override.key_or_group == "mixer" and set(map(str, _values(override))) - {ATTENTION}
    ]
    silent = [override for override in parsed if override.key_or_group.split(".")[0] == ATTENTION]
    if mixers and silent:
        mixer, attention = mixers[-1].input_line, silent[0].input_line
        raise UserError(
            f"{attention} has no effect beside {mixer}, which has no attention; leave one of the two out,"
            " or to compare both type: lra compare run attention=nystrom mixer=s4d"
        )


def _parse(word: str) -> Override:
    """Parse a word as Hydra does."""
    try:
        return OverridesParser.create().parse_override(word)
    except HydraException as error:
        key, value = word.split("=", 1)
        raise UserError(
            f"{word} cannot be read; put a value with special characters in quotes: \"{key}='{value}'\""
        ) from error


@cache
def _defaults(verb: str, words: tuple[str, ...]) -> DictConfig:
    """Compose the default settings for the chosen config groups."""
    return load_config(verb, words)


def _is_group(key: str) -> bool:
    return any((folder / key).is_dir() for folder in conf_dirs())


def _is_optional(verb: str, group: str) -> bool:
    """Tell whether the config group may be null."""
    chosen = load_config(verb, with_hydra=True).hydra.runtime.choices
    return group in chosen and chosen[group] in (None, "null")


def _checked(defaults: DictConfig, override: Override) -> str:
    """Check one override of a single setting, and return it as a word for Hydra."""
    key = override.key_or_group
    known = _leaves(OmegaConf.to_container(defaults))
    if key not in known:
        raise UserError(f"{key} is no setting; {_meant(key, list(known))}; lra train --cfg job prints all")
    default = OmegaConf.select(defaults, key) if not OmegaConf.is_missing(defaults, key) else None
    ruled = has_rule(defaults, key)
    kind, number = type(default), NUMBERS.get(key) if ruled else None
    if default is None:
        kind = number.kind if number else str
    for value in _values(override):
        open_to_null = default is None or (number is not None and number.null)
        if not _fits(value, kind) and not (value is None and open_to_null):
            shown = "null" if default is None else str(default).lower() if isinstance(default, bool) else default
            raise UserError(f"{_word(override, value)} is not {KINDS[kind]}; the default is {key}={shown}")
        if ruled and value is not None and "${" not in str(value):  # `check_settings` sees an interpolation's value
            check_value(key, value, _word(override, value))
    return _quoted(override) if kind is str else str(override.input_line)


def _fits(value: Any, kind: type) -> bool:
    """Tell whether a value has the type of the default; an integer may stand for a float."""
    if kind is str:
        return not isinstance(value, dict | list | None)  # a folder may be called 2024
    if kind is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, CONTAINERS.get(kind, kind))


def _quoted(override: Override) -> str:
    """Quote the numbers among the values of a text setting: `run_group=2024` becomes `run_group='2024'`."""
    word = str(override.input_line)
    key, typed = word.split("=", 1)
    parts, values = typed.split(","), _values(override)
    if len(parts) != len(values):
        return word
    texts = [f"'{part}'" if isinstance(value, int | float) else part for part, value in zip(parts, values, strict=True)]
    return f"{key}={','.join(texts)}"


def _word(override: Override, value: Any) -> str:
    """Word the override for an error: as it was typed, or with this one of several values."""
    return f"{override.key_or_group}={value}" if override.is_sweep_override() else str(override.input_line)


def _values(override: Override) -> list[Any]:
    values = list(override.sweep_iterator()) if override.is_sweep_override() else [override.value()]
    return [value.text if isinstance(value, QuotedString) else value for value in values]


def _leaves(node: Any, prefix: str = "") -> dict[str, Any]:
    """Map every key of a tree, as a dotted path, to its value; branches are included."""
    leaves = {}
    for key, value in node.items():
        leaves[f"{prefix}{key}"] = value
        if isinstance(value, dict):
            leaves |= _leaves(value, f"{prefix}{key}.")
    return leaves


def _meant(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"choose one of {', '.join(known)}" if len(known) < 12 else "no name is like it"
