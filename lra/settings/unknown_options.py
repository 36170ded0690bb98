"""The error for an option that is unknown, with the nearest that is known."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from omegaconf import DictConfig, OmegaConf

from lra.base.paths import NO_OPTION_KEYS
from lra.settings.added_keys import INSTEAD
from lra.settings.declared import Options, trainers_own
from lra.types import UserError

MOST_LISTED = 24  # names that an error lists: every attention, but not every setting
PRINT = "lra train --cfg job prints all"


def keys_of(cfg: Mapping[Any, Any]) -> list[str]:
    """Every key of a configuration, branches too, with dots."""
    tree: Any = OmegaConf.to_container(cfg) if isinstance(cfg, DictConfig) else cfg
    below = {str(name): keys_of(value) if isinstance(value, dict) else [] for name, value in tree.items()}
    return [key for name, keys in below.items() for key in (name, *(f"{name}.{key}" for key in keys))]


def unknown_option(key: str, cfg: DictConfig, options: Options, *, place: str = "", advice: str = PRINT) -> UserError:
    """The error for an option that is not there, or that nothing reads: with the one that is most like it, or with all.

    Args:
        key: the option.
        cfg: a configuration.
        options: those of the option's group.
        place: where the option stands, if it was not typed.
        advice: what to do, beside typing what is right.
    """
    group, _, name = key.rpartition(".")
    keys = [other for other in keys_of(cfg) if other != key]
    there = _siblings(key, keys)
    addable = [*options.kinds, *(trainers_own() if group == "trainer" else ())]
    near = get_close_matches(name, addable if options.owner else [*there, *addable], n=1, cutoff=0.6)
    sign = "" if not near or near[0] in there else "+"
    right = sign + f"{group}.{near[0]}".lstrip(".") if near else None
    if group == "trainer" and name in INSTEAD:
        line = f"{key} is set by lra itself; type for example {INSTEAD[name]}"
    elif near == [name]:
        line = f"{key} has no default; to add it type {right}=VALUE"
    elif right:
        line = f"unknown option {key}{place}; did you mean {right}?; {advice}"
    elif group and (options.owner or f"{group}.name" in keys):
        owner = options.owner or f"{group}={OmegaConf.select(cfg, group).name}"
        names = ", ".join(options.kinds if options.owner else there)
        line = f"unknown option {key}{place}: {owner} takes {names or 'no options'}; {advice}"
    else:
        line = f"unknown option {key}{place}; {nearest(key, keys)}; {advice}"
    return UserError(line, kind="unknown_option", key=key, right=right)


def nearest(word: str, known: list[str]) -> str:
    """What a wrong word was meant to be, or may be."""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"choose one of {', '.join(known)}" if len(known) <= MOST_LISTED else "no name is like it"


def _siblings(key: str, keys: Iterable[str]) -> list[str]:
    """The options beside a key, in the same group."""
    split = (other.rpartition(".") for other in keys)
    return [name for group, _, name in split if group == key.rpartition(".")[0] and name not in NO_OPTION_KEYS]
