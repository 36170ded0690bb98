"""The one check of values: each has the type of its option, and one error says what is wrong, and what is right.

It checks all values of a composed configuration, and before, one by one, those that are typed: the configuration that
they make has one of several values of an option, and the last of two overrides; and with a wrong value it may not
compose, as with `recipe.optimizer=5 recipe.optimizer.lr=1`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from hydra.core.override_parser.types import Override as Parsed
from omegaconf import DictConfig, OmegaConf

from lra.base.option_types import WrongValueError, allows
from lra.base.overrides import Override
from lra.base.paths import NO_OPTION_KEYS
from lra.base.printed_commands import override, shell_word
from lra.runs.schema import own_model
from lra.settings.declared import Option, group_options, keys_of
from lra.settings.other_words import called_so
from lra.settings.override_values import with_value
from lra.settings.run_config import Config
from lra.settings.unknown_option import Typed, fits, unknown_option
from lra.types import UserError

NOT_CHECKED = ("hydra", "codec", "open_source", "sizes")
ENVIRONMENT = re.compile(r"\$\{oc\.env:(\w+)")  # in a file: the variable that a value is from
OWN_MODEL = "a file of its own, conf/model/NAME.yaml, names the options of a model of yours, see docs/your_attention.md"


def check_values(config: Config, *, classes: bool, verb: str | None = None) -> None:
    """Refuse a configuration with a value that no declared type allows, or with an option that nothing reads.

    An option that another one refers to, as in `lr: ${recipe.my_rate}`, is read.

    Args:
        config: the configuration; what an interpolation stands for is checked.
        classes: whether to check the arguments of classes too, which are imported for that.
        verb: as in `group_options`.

    Raises:
        WrongValueError: for the first wrong value.
        UserError: for the first unknown option.
    """
    cfg = config.composed
    tops = [str(name) for name in cfg if name not in NOT_CHECKED and not OmegaConf.is_missing(cfg, name)]
    trees = {name: OmegaConf.select(cfg, name) for name in tops}
    plain = {  # the folder of a run in `paths` has a name that only right options have
        name: OmegaConf.to_container(tree, resolve=name != "paths") if OmegaConf.is_config(tree) else tree
        for name, tree in trees.items()
    }
    for group, members in _groups("", plain):
        options = group_options(cfg, group, classes=classes, verb=verb)
        for name in (name for name in members if name not in NO_OPTION_KEYS):
            option = Option(f"{group}.{name}".lstrip("."), options.kinds.get(name, Any))
            if options.owner and name not in options.kinds and f"{name}}}" not in OmegaConf.to_yaml(cfg):
                advice = OWN_MODEL if group == "model" and own_model(cfg.model) else None
                location = " in a file" if verb else ""
                raise unknown_option(option.key, cfg, options, Typed(verb=verb), location=location, advice=advice)
            if group or option.kind is not str or members[name] is not None:  # a command's file: null for no choice
                _check(option, members[name], cfg)


def _groups(group: str, members: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield group, members
    for name, value in members.items():
        if isinstance(value, dict) and name not in NOT_CHECKED:
            yield from _groups(f"{group}.{name}".lstrip("."), value)


def check_typed(option: Option, typed: Parsed, values: Iterable[object], cfg: DictConfig) -> None:
    """Refuse an override with a wrong value; what an interpolation stands for is not known yet.

    Args:
        option: what is typed.
        typed: the override, as typed.
        values: its values, as the option takes them.
        cfg: a configuration that may have another option, one that was meant.

    Raises:
        UserError: for the first wrong value.
    """
    for value in values:
        if "${" not in str(value):
            _check(option, value, cfg, typed)


def _check(option: Option, value: object, cfg: DictConfig, typed: Parsed | None = None) -> None:
    """Refuse a value that is not of the type of its option, by the override that gives it, or by its file."""
    if not allows(option.kind, value):
        raise _wrong_typed(option, value, cfg, typed) if typed else _wrong_in_file(option, value, cfg)


def _wrong_typed(option: Option, value: object, cfg: DictConfig, typed: Parsed) -> UserError:
    """The error for a typed value, with an option that others call so and that may have this value."""
    key = option.key
    if option.is_text and isinstance(value, list | dict):
        right = override(typed.get_key_element(), Override(typed.input_line).text)
        line = f"{typed.input_line} is no text, which in quotes it would be: type {shell_word(right)}"
        return UserError(line, kind="wrong_value", key=key, value=value, right=right)
    error = WrongValueError(key, value, option.kind, default=option.example, typed=with_value(typed, value))
    others = [other for other in called_so(key, keys_of(cfg)) if other != key and fits(cfg, other, value)]
    if not others:
        return error
    right = override(others[0], value)
    return UserError(f"{error}; did you mean {shell_word(right)}?", kind=error.kind, key=key, value=value, right=right)


def _wrong_in_file(option: Option, value: object, cfg: DictConfig) -> UserError:
    """The error for a value of a file, with the environment variable that it is from."""
    group, _, name = option.key.rpartition(".")
    written: Any = OmegaConf.to_container(OmegaConf.select(cfg, group) if group else cfg)
    variable = ENVIRONMENT.search(str(written[name]))
    error = WrongValueError(option.key, value, option.kind)
    if variable and allows(option.kind, yaml.safe_load(str(value))):  # a number, but as a text
        line = f"{option.key}: {written[name]} is a text; write ${{oc.decode:{written[name]}}}"
        return error.reworded(line)
    return error.reworded(f"{variable[1]}: {error}") if variable else error
