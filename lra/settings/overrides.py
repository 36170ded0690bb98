"""Check the overrides that a user types: known keys only, with values of the same type as their defaults."""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from contextlib import suppress

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, OverrideType, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf

from lra.base.arguments import ANY_VALUE, WrongValueError, allows, as_typed, check_options
from lra.base.paths import conf_groups, conf_names
from lra.runs.flatten_settings import flatten
from lra.runs.schema import TARGET
from lra.settings.added_keys import USER_GROUPS
from lra.settings.check import UnknownArgumentError, class_of, declared_by_class, kinds_of
from lra.settings.config import ATTENTION, load_config, sweep_params
from lra.settings.unknown_options import PRINT, check_every_choice, keys_of, nearest, unknown_setting
from lra.types import UserError

CONTAINERS: dict[type, type] = {ListConfig: list, DictConfig: dict}
TIMES = "times"  # tag of an interval, or of choices, whose numbers are factors of the value that a run has without
PARAMETER_GROUPS = ("recipe.parameter_groups.", "mixer.parameter_groups.")
REMOVABLE = (*PARAMETER_GROUPS, "recipe.optimizer.", "recipe.schedule.")  # arguments of a class that may be replaced
CHECKED_LATER = (*PARAMETER_GROUPS, *(f"{group}." for group in (*USER_GROUPS, "trainer")))  # by `check_additions`


def check_overrides(verb: str, overrides: list[str], *, sweep: bool, classes: bool = True) -> list[str]:
    """Refuse unknown groups, choices and keys, and values of the wrong type, before anything runs.

    Args:
        verb: the verb, which names the configuration.
        overrides: as typed.
        sweep: whether a setting may have several values (the user typed -m).
        classes: whether to look into the signatures of classes, which are imported for that; else an option of a class
            is checked by the type of its default.

    Returns:
        The overrides. A number for a text setting, as in run_group=2024, is put in quotes.

    Raises:
        UserError: for the first wrong word, with the most similar correct one.
    """
    for word in overrides:
        if not word.startswith(("-", "~")) and "=" not in word:
            line = f"{word!r} is no override; overrides are key=value, as in: lra {verb} task=listops"
            raise UserError(line, kind="unknown_option", key=word)
    parsed = [_parse(word) for word in overrides if not word.startswith("-")]
    several = next((override.input_line for override in parsed if override.is_sweep_override()), None)
    if several and not sweep:
        key, right = str(several).partition("=")[0], f"lra {verb} -m {several}"
        line = f"{several} names several values; to run each type: {right}"
        raise UserError(line, kind="several_values", key=key, right=right)
    parsed = [override for override in parsed if not _is_left_out(verb, override)]  # Hydra would refuse the word
    all_groups = conf_groups()
    choices = [override for override in parsed if override.key_or_group in all_groups and not override.is_delete()]
    _check_choices(verb, choices)
    changes = [override for override in parsed if override not in choices and not override.is_hydra_override()]
    groups_of_sweep, varied = _of_sweep(verb, parsed)
    known = [
        load_config(verb, tuple(_words(override)[0] for override in (*choices, *groups_of_sweep)))
    ]  # the first run
    settings = [override for override in changes if _gives_value(override, known[0])]
    for alternatives in _alternatives(verb, [*choices, *groups_of_sweep], [*settings, *varied]):
        check_every_choice([*settings, *varied], alternatives)
        known += alternatives.values()
    for override in varied:
        _checked(known, override, classes=False)
    for override in changes:
        if override not in settings:
            _check_added(override, known, parsed)
    for override in settings:
        _check_size(known[0], override)
        _check_name(known[0], override)
    checked = [word for word in overrides if word.startswith("-")]
    for override in parsed:
        checked.append(_checked(known, override, classes=classes) if override in settings else str(override.input_line))
    return checked


def _check_choices(verb: str, choices: list[Override]) -> None:
    for override in choices:
        known, several = conf_names(override.key_or_group), override.key_or_group in USER_GROUPS
        values = [
            name for value in _values(override) for name in (value if several and isinstance(value, list) else [value])
        ]
        for value in values:
            if isinstance(value, dict):
                raise _group_of_options(override.key_or_group, value)
            if str(value) not in known:
                line = f"{_word(override, value)} is not known; {nearest(str(value), known)}"
                raise UserError(line, kind="unknown_choice", key=override.key_or_group, value=value, right=known)


def _of_sweep(verb: str, parsed: list[Override]) -> tuple[list[Override], list[Override]]:
    """What the file of `sweep=NAME` varies beside what was typed: groups, and settings; nothing in one of its cells."""
    sweeps = [override.value() for override in parsed if override.key_or_group == "sweep"]
    if not sweeps or any(override.key_or_group == "hydra.mode" and override.value() == "RUN" for override in parsed):
        return [], []
    typed = {override.key_or_group for override in parsed}
    params = sweep_params(str(sweeps[-1]))
    varied = [_parse(f"{key}={values}") for key, values in params.items() if key not in typed]
    groups = [override for override in varied if override.key_or_group in conf_groups()]
    return groups, [override for override in varied if override not in groups]


def _alternatives(verb: str, groups: list[Override], settings: list[Override]) -> Iterator[dict[str, DictConfig]]:
    """For each swept group whose settings were typed, the configuration under each choice, beside the others' first."""
    axes = {override.key_or_group: _words(override) for override in groups}
    asked = {override.key_or_group.split(".")[0] for override in settings}
    for group, choices in axes.items():
        beside = [other[0] for name, other in axes.items() if name != group]
        if group in asked and len(choices) > 1:
            yield {choice: load_config(verb, (*beside, choice)) for choice in choices}


def _words(override: Override) -> list[str]:
    """The word; if it has several values, one for each: `attention=full`, `attention=nystrom`."""
    if override.is_sweep_override():
        return [f"{override.key_or_group}={value}" for value in _values(override)]
    return [str(override.input_line)]


def _gives_value(override: Override, defaults: DictConfig) -> bool:
    """Tell whether an override gives an option another value: `key=value`, or `++key=value` if the key is there."""
    if override.type is OverrideType.FORCE_ADD:
        return override.key_or_group in keys_of(defaults)
    return override.type is OverrideType.CHANGE


def _check_added(override: Override, known: list[DictConfig], typed: list[Override]) -> None:
    """Refuse an added option (`+`, `++`) that nothing would read, and the removal (`~`) of one that every run needs.

    The arguments of a class are its own affair: what it does not take is refused.
    """
    key, word = override.key_or_group, override.input_line
    there = any(key in keys_of(cfg) for cfg in known)
    if override.is_delete():
        if not there:
            raise unknown_setting(key, known[0])
        if not _is_removable(key, known):
            chosen = f"{key}.{TARGET}=CLASS" if f"{key}.{TARGET}" in keys_of(known[0]) else f"{key}=VALUE"
            line = f"{word} takes away an option that every run needs; to change it type {chosen}"
            raise UserError(line, kind="needed", key=key, right=chosen)
    elif there:
        right = str(word).lstrip("+")
        line = f"{word} adds an option that is there already; to change it type {right}"
        raise UserError(line, kind="there_already", key=key, right=right)
    elif not key.startswith(CHECKED_LATER):
        _check_argument(override, known, typed)


def _check_argument(override: Override, known: list[DictConfig], typed: list[Override]) -> None:
    """Refuse an added option that is no argument of a class, nor a part of one; a class may be replaced beside it."""
    replaced = {each.key_or_group: str(each.value()) for each in typed if each.key_or_group.endswith(f".{TARGET}")}
    key, group, target = override.key_or_group, override.key_or_group, None
    while "." in group and target is None:
        group, _, name = group.rpartition(".")
        classes = (replaced.get(f"{group}.{TARGET}") or class_of(cfg, group) for cfg in known)
        target = next(filter(None, classes), None)
    if target is None or key.endswith(f".{TARGET}"):
        line = f"{override.input_line} adds an option that nothing reads; {PRINT}"
        raise UserError(line, kind="unknown_option", key=key)
    kinds, takes_others = declared_by_class(target)
    if name not in kinds and not takes_others:
        raise UnknownArgumentError(target, f"{group}.{name}", kinds)
    if key == f"{group}.{name}" and "${" not in str(override.value()):  # else a part of an argument, or not known yet
        check_options({key: override.value()}, {key: kinds.get(name, ANY_VALUE)})


def _is_removable(key: str, known: list[DictConfig]) -> bool:
    """Tell whether a run can do without an option: an argument of the optimizer, a callback, or a logger."""
    group, _, name = key.partition(".")
    is_entry = group in USER_GROUPS and "." not in name
    has_class = is_entry and any(class_of(cfg, key) is not None for cfg in known)
    return has_class or key == "logger.wandb" or key.startswith(REMOVABLE)


def _check_size(defaults: DictConfig, override: Override) -> None:
    """Refuse a setting of the task whose value the size fixes: it would have no effect."""
    group, _, key = override.key_or_group.partition(".")
    data = OmegaConf.select(defaults, "task.data") if group == "task" else None
    if data is not None and key in data and data[key] != defaults.task[key]:
        raise UserError(
            f"{override.input_line} has no effect at size={defaults.size.name}, whose {key} is {data[key]}; leave it"
            " out, or choose size=full",
            kind="no_effect",
            key=override.key_or_group,
        )


def _check_name(defaults: DictConfig, override: Override) -> None:
    """Refuse to call a choice of a config group by the name of another one, which its record would then have."""
    group, _, key = override.key_or_group.partition(".")
    if key != "name" or group not in conf_groups():
        return
    for name in map(str, _values(override)):
        if name in conf_names(group) and name != defaults[group].name:
            raise UserError(
                f"{_word(override, name)} would give {group}={defaults[group].name} the name of another;"
                f" to choose that one type {group}={name}"
            )


def check_mixer(overrides: list[str]) -> None:
    """Refuse `attention` options beside a mixer that is not self-attention, and the other way round: without effect.

    Verbs over many runs do not call this: they may compare an attention with another mixer.

    Raises:
        UserError: when both are typed.
    """
    parsed = [_parse(word) for word in overrides if "=" in word and not word.startswith("-")]
    mixers = [str(value) for override in parsed if override.key_or_group == "mixer" for value in _values(override)]
    silent = {"mixer": ATTENTION in mixers, ATTENTION: bool({*mixers} - {ATTENTION})}
    for override in parsed:
        group, _, option = override.key_or_group.partition(".")
        if silent.get(group) and (option or group == ATTENTION):
            raise UserError(
                f"{override.input_line} has no effect beside mixer={','.join(mixers)}; leave one of the two out, or to"
                " compare both type: lra compare run attention=nystrom mixer=s4d",
                kind="no_effect",
                key=override.key_or_group,
            )


def _parse(word: str) -> Override:
    """Parse a word as Hydra does."""
    try:
        return OverridesParser.create().parse_override(word)
    except HydraException as error:
        if "…" in word:
            raise UserError(f"{word}: … stands for what you fill in; lra show runs lists the runs") from error
        key, value = word.split("=", 1)
        options: object = None
        with suppress(ValueError, SyntaxError):  # a dictionary as Python writes it, and so W&B's agents
            options = literal_eval(value)
        if isinstance(options, dict):
            raise _group_of_options(key, options) from error
        raise UserError(
            f"{word} cannot be read; put a value with special characters in quotes: \"{key}='{value}'\""
        ) from error


def _group_of_options(key: str, options: Mapping[str, object]) -> UserError:
    """The error for a dictionary in the place of a name, with the overrides that say the same."""
    right = " ".join(f"{name}={value}" for name, value in flatten(options, f"{key}.").items())
    line = f"{key} is a group, which takes no dictionary; type its options one by one: {right}"
    return UserError(line, kind="wrong_value", key=key, value=options, right=right)


def _is_left_out(verb: str, override: Override) -> bool:
    """Tell whether a word says that a config group is null, and without the word it is."""
    if override.type is not OverrideType.CHANGE or override.value() is not None:
        return False
    group, chosen = override.key_or_group, load_config(verb, with_hydra=True).hydra.runtime.choices
    return group in chosen and chosen[group] in (None, "null")


def _checked(known: list[DictConfig], override: Override, *, classes: bool) -> str:
    """Check one override against the first configuration that has its option, and return it as a word for Hydra.

    The numbers among the values of an option that is a word are put in quotes: `run_group=2024` to `run_group='2024'`.
    """
    key = override.key_or_group
    cfg = next((cfg for cfg in known if key in keys_of(cfg)), None)
    if cfg is None:
        raise unknown_setting(key, known[0])
    default = OmegaConf.select(cfg, key) if not OmegaConf.is_missing(cfg, key) else None
    example = OmegaConf.to_container(default) if isinstance(default, ListConfig) else default
    group, _, name = key.rpartition(".")
    kind = kinds_of(cfg, group, classes=classes)[0].get(name, ANY_VALUE)
    if kind is ANY_VALUE:  # an option of a class that declares nothing: as its default
        kind = str if default is None else CONTAINERS.get(type(default), type(default))
    word, values, texts = str(override.input_line), _values(override), []
    for value in values:
        if value == "" and not group and key != "what":  # as a path it would be the current folder
            raise UserError(f"{key}= is empty; type a value, or leave it out", kind="empty", key=key)
        as_it_is = allows(kind, value)  # else as text: a folder may be called 2024
        fits = as_it_is or (not isinstance(value, dict | list | None) and allows(kind, as_typed(value)))
        is_default = value is None and default is None
        if "${" not in str(value) and not fits and not is_default:  # what it stands for is checked when it is known
            raise WrongValueError(key, value, kind, default=example, typed=_word(override, value))
        texts.append(isinstance(value, int | float) and fits and not as_it_is)
    typed = word.split("=", 1)[1].split(",")
    if len(typed) != len(values):
        return word
    quoted = [f"'{part}'" if as_text else part for part, as_text in zip(typed, texts, strict=True)]
    return f"{key}={','.join(quoted)}"


def in_quotes(text: str) -> str:
    """Quote a text as Hydra reads it, so that it may hold commas, brackets and spaces.

    A backslash counts only in front of a quote or the end, and only there it is doubled.
    """
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + (r"\'" if match[2] else ""), text)
    return f"'{escaped}'"


def _word(override: Override, value: object) -> str:
    """Word the override for an error: as it was typed, or with this one of several values."""
    return f"{override.key_or_group}={value}" if override.is_sweep_override() else str(override.input_line)


def _values(override: Override) -> list[object]:
    """The values of an override: of an interval its two ends; of factors none, because they are no values."""
    sweep = override.value()
    if isinstance(sweep, IntervalSweep | ChoiceSweep) and TIMES in sweep.tags:
        return []
    if isinstance(sweep, IntervalSweep):
        return [sweep.start, sweep.end]
    values = list(override.sweep_iterator()) if override.is_sweep_override() else [override.value()]
    return [value.text if isinstance(value, QuotedString) else value for value in values]
