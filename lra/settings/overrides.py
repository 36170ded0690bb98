"""Check the overrides that a user types: known keys and choices, with values of their declared types."""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, OverrideType, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from lra.base.arguments import WrongValueError, allows, as_typed
from lra.base.paths import NO_OPTION_KEYS, conf_choices
from lra.runs.flatten_settings import flatten
from lra.runs.schema import TARGET
from lra.settings.added_keys import USER_GROUPS
from lra.settings.config import ATTENTION, load_config, sweep_params
from lra.settings.declared import class_of, group_options
from lra.settings.unknown_options import check_every_choice, keys_of, nearest, unknown_option
from lra.types import UserError

TIMES = "times"  # tag of an interval, or of choices, whose numbers are factors of the value that a run has without
REMOVABLE = ("recipe.parameter_groups.", "mixer.parameter_groups.", "recipe.optimizer.", "recipe.schedule.")


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
    parsed = [_parse(word, verb) for word in overrides if not word.startswith("-")]
    several = next((override.input_line for override in parsed if override.is_sweep_override()), None)
    if several and not sweep:
        key, right = str(several).partition("=")[0], f"lra {verb} -m {several}"
        line = f"{several} names several values; to run each type: {right}"
        raise UserError(line, kind="several_values", key=key, right=right)
    parsed = [override for override in parsed if not _is_left_out(verb, override)]  # Hydra would refuse the word
    names, of_sweep = conf_choices(), _of_sweep(parsed)
    groups = [each for each in parsed if each.key_or_group in names and not each.is_delete()]
    _check_choices(groups, names)
    typed = [each for each in parsed if each not in groups and not each.is_hydra_override()]
    groups += [each for each in of_sweep if each.key_or_group in names]
    settings = [*typed, *(each for each in of_sweep if each.key_or_group not in names)]
    choices = [_words(override)[0] for override in groups]
    known = [load_config(verb, choices)]  # the first run, then those with another choice of a group
    for alternatives in _alternatives(verb, groups, settings):
        changes = [each for each in settings if not each.is_delete() and each.type is not OverrideType.ADD]
        check_every_choice(changes, alternatives)
        known += alternatives.values()
    for override in settings:
        _check_key(override, known, names, verb)
    added = [each for each in settings if not _is_in(each.key_or_group, known)]
    changed = [each for each in settings if _is_in(each.key_or_group, known[:1])]
    whole = [*choices, *(word for each in (*changed, *added) for word in _words(each)[:1])]
    composed = load_config(verb, whole) if added else known[0]
    checked = {
        str(each.input_line): _checked(each, [*known, composed], verb, classes=classes and each in typed)
        for each in settings
    }
    words = [str(each.input_line) for each in parsed]
    return [*(word for word in overrides if word.startswith("-")), *(checked.get(word, word) for word in words)]


def _check_choices(groups: list[Override], names: Mapping[str, list[str]]) -> None:
    for override in groups:
        key = override.key_or_group
        for value in _values(override):
            for name in value if key in USER_GROUPS and isinstance(value, list) else [value]:
                if isinstance(name, dict):
                    raise _group_of_options(key, name)
                if str(name) not in names[key]:
                    line = f"{_word(override, name)} is not known; {nearest(str(name), names[key])}"
                    raise UserError(line, kind="unknown_choice", key=key, value=name, right=names[key])


def _of_sweep(parsed: list[Override]) -> list[Override]:
    """What the file of `sweep=NAME` varies beside what was typed; nothing in one of its cells."""
    sweeps = [override.value() for override in parsed if override.key_or_group == "sweep"]
    if not sweeps or any(override.key_or_group == "hydra.mode" and override.value() == "RUN" for override in parsed):
        return []
    typed = {override.key_or_group for override in parsed}
    return [_parse(f"{key}={values}") for key, values in sweep_params(str(sweeps[-1])).items() if key not in typed]


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
        sign = str(override.input_line).partition(override.key_or_group)[0]  # such as `+`
        return [f"{sign}{override.key_or_group}={as_typed(value)}" for value in _values(override)]
    return [str(override.input_line)]


def _is_in(key: str, configurations: Sequence[DictConfig]) -> bool:
    return any(key in keys_of(cfg) for cfg in configurations)


def _check_key(override: Override, known: Sequence[DictConfig], names: Mapping[str, list[str]], verb: str) -> None:
    """Refuse an option that is not there, the addition of one that is, and what would have no effect."""
    cfg, key, word = known[0], override.key_or_group, str(override.input_line)
    group, _, name = key.rpartition(".")
    if not _is_in(key, known):
        if override.is_delete() or override.type is OverrideType.CHANGE:
            raise unknown_option(key, cfg, group_options(cfg, group, classes=False, verb=verb))
        return
    if override.is_delete():
        if not _is_removable(key, known):
            right = f"{key}.{TARGET}=CLASS" if class_of(cfg, key) else f"{key}=VALUE"
            line = f"{word} takes away an option that every run needs; to change it type {right}"
            raise UserError(line, kind="needed", key=key, right=right)
    elif override.type is OverrideType.ADD:
        right = word.lstrip("+")
        line = f"{word} adds an option that is there already; to change it type {right}"
        raise UserError(line, kind="there_already", key=key, right=right)
    data = OmegaConf.select(cfg, "task.data") if group == "task" else None
    if data is not None and name in data and data[name] != cfg.task[name]:  # the size fixes its value
        line = f"{word} has no effect at size={cfg.size.name}, whose {name} is {data[name]}"
        raise UserError(f"{line}; leave it out, or choose size=full", kind="no_effect", key=key)
    if name == "name" and group in names:
        for value in map(str, () if override.is_delete() else _values(override)):
            if value in names[group] and value != cfg[group].name:  # its record would then have the name of another
                line = f"{_word(override, value)} would give {group}={cfg[group].name} the name of another"
                raise UserError(f"{line}; to choose that one type {group}={value}")


def _is_removable(key: str, known: Sequence[DictConfig]) -> bool:
    """Tell whether a run can do without an option: an argument of the optimizer, a callback, or a logger."""
    group, _, name = key.partition(".")
    is_entry = group in USER_GROUPS and "." not in name and any(class_of(cfg, key) is not None for cfg in known)
    return is_entry or key == "logger.wandb" or key.startswith(REMOVABLE)


def _checked(override: Override, known: Sequence[DictConfig], verb: str, *, classes: bool) -> str:
    """Check the values of one override, and return it as a word for Hydra.

    The numbers among the values of an option that is a word are put in quotes: `run_group=2024` to `run_group='2024'`.
    """
    key, word, values = override.key_or_group, str(override.input_line), _values(override)
    if override.is_delete():
        return word
    *there, composed = known
    cfg = next((cfg for cfg in there if key in keys_of(cfg)), None)
    parts = key.split(".")
    for group, name in ((".".join(parts[:end]), parts[end]) for end in range(len(parts)) if cfg is None):
        options = group_options(composed, group, classes=classes, verb=verb)
        if options.owner and name not in (*options.kinds, *NO_OPTION_KEYS):
            raise unknown_option(f"{group}.{name}".lstrip("."), composed, options)
    group, _, name = key.rpartition(".")
    kind = group_options(cfg or composed, group, classes=classes).kinds.get(name, Any)
    default: object = OmegaConf.select(cfg, key) if cfg is not None and not OmegaConf.is_missing(cfg, key) else None
    default = OmegaConf.to_container(default) if OmegaConf.is_config(default) else default
    if cfg is not None and kind is Any:  # an option of a class that declares nothing: as its default
        kind = str if default is None else type(default)
    as_text = []
    for value in values:
        if value == "" and not group and key != "what":  # as a path it would be the current folder
            raise UserError(f"{key}= is empty; type a value, or leave it out", kind="empty", key=key)
        is_right = allows(kind, value) or (value is None and default is None and cfg is not None)
        as_text.append(not is_right and isinstance(value, int | float) and allows(kind, as_typed(value)))
        if (
            not is_right and not as_text[-1] and "${" not in str(value)
        ):  # what it stands for is checked when it is known
            example = None if isinstance(default, dict) else default
            raise WrongValueError(key, value, kind, default=example, typed=_word(override, value))
    typed, _, texts = word.partition("=")
    if not any(as_text) or len(texts.split(",")) != len(values):
        return word
    quoted = [f"'{text}'" if quote else text for text, quote in zip(texts.split(","), as_text, strict=True)]
    return f"{typed}={','.join(quoted)}"


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


def _parse(word: str, verb: str = "") -> Override:
    """Parse a word as Hydra does."""
    if "=" not in word and not word.startswith("~"):
        line = f"{word!r} is no override; overrides are key=value, as in: lra {verb} task=listops"
        raise UserError(line, kind="unknown_option", key=word)
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
