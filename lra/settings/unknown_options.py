"""Options that are unknown, or that some choices of a sweep lack; each with the nearest that is."""

import difflib
from collections.abc import Iterable, Mapping

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from lra.base.paths import NO_OPTION_KEYS
from lra.settings.added_keys import trainer_advice
from lra.settings.config import ATTENTION
from lra.types import UserError

MOST_LISTED = 24  # names that an error lists: every attention, but not every setting
ANY_ATTENTION = f"mixer={ATTENTION}"  # its settings are `attention.…`; verbs over many runs put it beside mixers


def keys_of(defaults: DictConfig) -> list[str]:
    """Every key of a configuration, branches too, with dots."""
    tree = OmegaConf.to_container(defaults)
    assert isinstance(tree, dict)
    return list(_keys({str(key): value for key, value in tree.items()}, ""))


def _keys(tree: Mapping[str, object], prefix: str) -> Iterable[str]:
    for key, value in tree.items():
        yield f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")


def check_every_choice(settings: Iterable[Override], choices: Mapping[str, DictConfig]) -> None:
    """Refuse a setting that some choices of a swept group have and others lack.

    Args:
        settings: such as `attention.num_landmarks=16`.
        choices: the configuration under each choice, such as `attention=full`.

    Raises:
        UserError: with the choices that lack it, and what these have.
    """
    known = {choice: keys_of(cfg) for choice, cfg in choices.items() if choice != ANY_ATTENTION}
    for key, typed in ((override.key_or_group, override.input_line) for override in settings):
        lacking = [choice for choice, keys in known.items() if key not in keys]
        if 0 < len(lacking) < len(known):
            has = [f"{choice}, which has {_in_words(_siblings(key, known[choice]))}" for choice in lacking]
            raise UserError(
                f"{typed} is no option of {'; nor of '.join(has)}: leave {_either(lacking)} or {typed} out",
                kind="unknown_option",
                key=key,
            )


def unknown_setting(key: str, cfg: DictConfig) -> UserError:
    """The error for a setting that is not there, with the one that is most like it."""
    keys, (branch, _, name) = keys_of(cfg), key.rpartition(".")
    siblings = _siblings(key, keys)
    near = [f"{branch}.{other}".lstrip(".") for other in difflib.get_close_matches(name, siblings, n=1, cutoff=0.6)]
    if branch == "trainer":
        line = trainer_advice(name)
    elif near:
        line = f"unknown option {key}; did you mean {near[0]}?; {PRINT}"
    elif f"{branch}.name" in keys:
        chosen = f"{branch}={OmegaConf.select(cfg, branch).name}"
        line = f"{key} is no option of {chosen}, which has {_in_words(siblings)}; {PRINT}"
    else:
        line = f"unknown option {key}; {nearest(key, keys)}; {PRINT}"
    return UserError(line, kind="unknown_option", key=key, right=near[0] if near else None)


PRINT = "lra train --cfg job prints all"


def nearest(word: str, known: list[str]) -> str:
    """What a wrong word was meant to be, or may be."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"choose one of {', '.join(known)}" if len(known) <= MOST_LISTED else "no name is like it"


def _siblings(key: str, keys: Iterable[str]) -> list[str]:
    """The options beside a key, in the same group."""
    branch = key.rpartition(".")[0]
    names = [name for place, _, name in (known.rpartition(".") for known in keys) if place == branch]
    return [name for name in names if name not in NO_OPTION_KEYS]


def _in_words(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _either(choices: list[str]) -> str:
    return choices[0] if len(choices) == 1 else "these"
