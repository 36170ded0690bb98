"""The error for an option that is not there: what it was probably meant to be, or what there is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lra.base.option_types import ALIKE, MOST_LISTED, allows
from lra.base.overrides import Override
from lra.base.paths import NO_OPTION_KEYS, conf_dirs, conf_groups, conf_names
from lra.base.printed_commands import PLAIN_TEXT, shell_command
from lra.settings.added_keys import INSTEAD
from lra.settings.compose import compose_config
from lra.settings.declared import Options, group_options, keys_of, option_of, trainers_own
from lra.settings.option_groups import GROUPS
from lra.settings.other_words import (
    meant_by_letters,
    meant_by_other_words,
    phrase_for,
    with_typed_value,
    without_hyphens,
)
from lra.settings.run_config import Config, RunConfig
from lra.training.wandb_limits import SET_BY_LRA
from lra.types import UserError

# Keys that nobody types: of the files behind `size=`, of a task's own facts, and of a run's folder.
INTERNAL = re.compile(r"^(task\.(sizes|spec|codec|open_source)(\..*)?|paths\.run|tuned)$|(^|\.)(_\w+_|name)$")
# What prints all options, for verbs other than those with one word and one configuration.
ALL_OPTIONS = {
    "show": "lra show model --cfg job prints all",
    "bench": "lra bench step --cfg job prints all",
    "bench_attention": "lra bench attention --help shows examples",
    **{verb: f"lra {verb} --help shows examples" for verb in ("table", "compare", "tune", "sweep")},
}


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What was typed around a key.

    Attributes:
        verb: the verb that composed the configuration; None: not known.
        value: the value of the key; None: none.
        own: options of the verb that was typed, where the configuration is that of its runs.
    """

    verb: str | None = None
    value: str | None = None
    own: Sequence[str] = ()


def unknown_option(
    key: str,
    cfg: DictConfig,
    options: Options,
    typed: Typed = Typed(),
    *,
    location: str = "",
    advice: str | None = None,
) -> UserError:
    """The error for an option that is not there, or that nothing reads: with what it was meant to be, or with all.

    Args:
        key: the option.
        cfg: a configuration.
        options: those of the option's group.
        typed: its value, and the verb.
        location: where the option stands, if it was not typed.
        advice: what to do, beside typing what is right; None: the command that prints all options.
    """
    group, _, name = key.rpartition(".")
    verb, value = typed.verb, typed.value
    if group == "trainer" and name in INSTEAD:
        line = f"{key} is set by lra itself; type for example {INSTEAD[name]}"
        return UserError(line, kind="unknown_option", key=key)
    if group == "logger.wandb" and name in SET_BY_LRA:
        line = f"{key} is set by lra itself, so that a resumed run stays one; leave it out"
        return UserError(line, kind="unknown_option", key=key)
    if group == "pretrain" and name in GROUPS[group] and not RunConfig(cfg).is_pretrained:
        masked = f"pretrain=masked {with_typed_value(key, value)}"
        line = f"{key} has no effect without a pretraining; {advice or f'type for example {masked}'}"
        return UserError(line, kind="unknown_option", key=key, right=masked)
    advice = advice or ALL_OPTIONS.get(verb or "train", f"lra {verb or 'train'} --cfg job prints all")
    node: Any = OmegaConf.select(cfg, group) if group else cfg
    there = _options_in(node, name, options)
    has_group = not group or isinstance(node, DictConfig)
    addable = [*options.kinds, *(trainers_own() if group == "trainer" else ())] if options.grows and has_group else []
    if name in addable:
        line = f"{key} has no default; to add it type {with_typed_value(f'+{key}', value or 'VALUE')}"
        return UserError(line, kind="unknown_option", key=key, right=f"+{key}")
    known = [*typed.own, *(other for other in _keys_to_type(cfg) if other != key)]
    lists_group = bool(group) and has_group and (options.owner is not None or "name" in node)
    right = _by_other_words(key, cfg, known, value)
    if right is None and group == "task.data" and not location:  # what is typed is an option of the size
        right = _by_letters(key, cfg, known, value)
    elif right is None and group and has_group:
        right = _by_letters_in_group(key, cfg, there, addable, value)
    hint = None if right else _phrase_hint(key, cfg) or (None if group else _of_another_method(key, cfg, value))
    if right is None and hint is None and not lists_group:
        right = _by_letters(key, cfg, known, value)
    if right is not None:
        hint = f"did you mean {with_typed_value(right, value)}?"
    elif hint is None and lists_group:
        names = ", ".join(options.kinds if options.owner and options.grows else there)
        hint = f"{options.owner or f'{group}={node.name}'} takes {names or 'no options'}"
    elif hint is None:
        takes = f"lra {(verb or 'train').replace('_', ' ')} takes {', '.join(known)}"
        hint = takes if len(known) <= MOST_LISTED else "no name is like it"
    return UserError(f"unknown option {key}{location}; {hint}; {advice}", kind="unknown_option", key=key, right=right)


def unknown_own_option(verb: str, typed: Override, advice: str) -> UserError:
    """The error for an unknown option of a command that has its own alone."""
    cfg = compose_config(verb)
    options = group_options(cfg, "", verb=verb)
    return unknown_option(typed.key, cfg, options, Typed(verb=verb, value=typed.text), advice=advice)


def _keys_to_type(cfg: DictConfig) -> list[str]:
    """The options that users type: of groups only those with several files to choose from."""
    of_size = f"task.sizes.{OmegaConf.select(cfg, 'size.name')}."  # where `task.data` is set at this size
    tree = OmegaConf.to_container(cfg)  # once: an error would wait for it at every key
    groups = conf_groups()
    keys = []
    for key in keys_of(cfg):
        is_group = isinstance(_below(tree, key), dict)
        has_choices = key in groups and len(conf_names(key)) > 1
        if key.startswith(of_size) or (not INTERNAL.search(key) and (not is_group or has_choices)):
            keys.append(key)
    return keys


def _below(tree: Any, key: str) -> Any:
    """The value of a dotted key."""
    for name in key.split("."):
        tree = tree[name]
    return tree


def _phrase_hint(key: str, cfg: DictConfig) -> str | None:
    """What to type for what no single option says, in a configuration of a training."""
    phrase = phrase_for(key) if "recipe" in cfg else None
    return phrase and f"type {phrase}"


def _of_another_method(key: str, cfg: DictConfig, value: str | None) -> str | None:
    """Word what to type for an option that another attention or mixer has."""
    for group in ("attention", "mixer"):
        if group not in cfg:
            continue
        for name in conf_names(group):
            path = next(path for folder in conf_dirs() if (path := folder / group / f"{name}.yaml").is_file())
            options = [f"{group}.{option}" for option in yaml.safe_load(path.read_text("utf-8"))]
            meant = [other for other in meant_by_other_words(key, options) if not INTERNAL.search(other)]
            if meant and name != cfg[group].name:
                return f"it is of another {group}, type {group}={name} {with_typed_value(meant[0], value)}"
    return None


def _options_in(node: Any, name: str, options: Options) -> list[str]:
    """The other options that a group has, and takes."""
    if not isinstance(node, DictConfig):
        return []
    others = [str(other) for other in node if other not in (name, *NO_OPTION_KEYS)]
    return [other for other in others if not options.owner or other in options.kinds]


def _by_other_words(key: str, cfg: DictConfig, known: list[str], value: str | None) -> str | None:
    """The option that others call so: the first that may have the typed value, else the first."""
    meant = meant_by_other_words(key, known)
    read = _first_value(value)
    fitting = (other for other in meant if read is None or fits(cfg, other, read))
    return next(fitting, next(iter(meant), None))


def _by_letters_in_group(
    key: str, cfg: DictConfig, there: list[str], addable: list[str], value: str | None
) -> str | None:
    """The option of the same group that is most like an unknown one; with a plus where it has to be added."""
    group, _, name = key.rpartition(".")
    near = get_close_matches(name, [*there, *addable], cutoff=ALIKE)
    read = _first_value(value)
    fitting = (other for other in near if other not in there or read is None or fits(cfg, f"{group}.{other}", read))
    best = next(fitting, next(iter(near), None))
    return best and ("" if best in there else "+") + f"{group}.{best}"


def _by_letters(key: str, cfg: DictConfig, known: list[str], value: str | None) -> str | None:
    """The option of any group that is most like an unknown one; of another group only if it may have the value."""
    right = meant_by_letters(key, known)
    other_group = right is not None and "." in right
    return None if other_group and value and not fits(cfg, str(right), _first_value(value)) else right


def _first_value(typed: str | None) -> object:
    """The typed value, or the first of several, with its type."""
    first = typed.split(",")[0] if typed else None
    return yaml.safe_load(first) if first and PLAIN_TEXT.fullmatch(first) else first


def fits(cfg: DictConfig, key: str, value: object) -> bool:
    """Tell whether an option may have a value, by its type."""
    try:
        return allows(option_of(cfg, key, classes=False).kind, value)
    except OmegaConfBaseException:  # what its default refers to is in another verb's configuration
        return True


def unknown_flag(flags: Sequence[str], verb: str, problem: str, config: Config, own: Sequence[str] = ()) -> UserError:
    """The error for `--task listops`, which is typed `task=listops`, and for what is no flag of any program.

    Args:
        flags: the arguments from the flag on.
        verb: the verb that was typed.
        problem: what is wrong with the flag.
        config: the configuration of the verb, or of its runs.
        own: options of that verb, where `config` is that of its runs.
    """
    override, cfg, right = without_hyphens(flags), config.composed, None
    if override is not None:
        key, value = Override(override).key, Override(override).text
        known = [*own, *_keys_to_type(cfg)]
        meant = key if key in known else _by_other_words(key, cfg, known, value) or meant_by_letters(key, known)
        right = meant and with_typed_value(meant, value)
        phrase = None if right else _phrase_hint(key, cfg)
        advice = phrase or (right and f"type {right}, without hyphens")
    line = f"{problem}; {(override and advice) or f'lra {verb} --help shows what there is'}"
    return UserError(line, kind="unknown_option", key=" ".join(flags), right=right)


def not_installed(group: str, name: str) -> str | None:
    """Word what to type for a choice in a package that `lra new` has written below the current folder."""
    for folder in (Path(name), Path()):
        if (folder / name / "conf" / group / f"{name}.yaml").is_file() and (folder / "pyproject.toml").is_file():
            path = f"./{name}" if folder.name else "."
            return f"{path} is not installed; type: {shell_command('pip', 'install', '-e', path)}"
    return None
