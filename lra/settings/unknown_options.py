"""The error for an option that is unknown, with the nearest that is known."""

from collections.abc import Mapping
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
    node = OmegaConf.select(cfg, group) if group else cfg
    others = [str(other) for other in node if other not in (name, *NO_OPTION_KEYS)] if OmegaConf.is_dict(node) else []
    there = [other for other in others if not options.owner or other in options.kinds]
    addable = [*options.kinds, *(trainers_own() if group == "trainer" else ())] if options.grows else []
    near = get_close_matches(name, [*there, *addable], n=1, cutoff=0.6)
    sign = "" if not near or near[0] in there else "+"
    right = sign + f"{group}.{near[0]}".lstrip(".") if near else None
    if group == "trainer" and name in INSTEAD:
        line = f"{key} is set by lra itself; type for example {INSTEAD[name]}"
    elif near == [name]:
        line = f"{key} has no default; to add it type {right}=VALUE"
    elif right:
        line = f"unknown option {key}{place}; did you mean {right}?; {advice}"
    elif group and (options.owner or f"{group}.name" in keys):
        owner = options.owner or f"{group}={node.name}"
        names = ", ".join(options.kinds if options.owner and options.grows else there)
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
