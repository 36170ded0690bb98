"""Check the overrides that a user types, before anything runs.

First, what Hydra could not compose or would refuse in its own words: unknown groups, choices and keys, several values
of one run, and keys that are added twice or taken away. Then, with the configurations that the choices make, what Hydra
would take: wrong values, by the one check of `lra.settings.check_values`, and options without effect.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from hydra.core.override_parser.types import Override as Parsed
from hydra.core.override_parser.types import OverrideType
from omegaconf import DictConfig, OmegaConf

from lra.base.option_types import nearest
from lra.base.overrides import Override, Overrides
from lra.base.paths import NO_OPTION_KEYS, conf_choices
from lra.base.printed_commands import override, shell_word, typed_command
from lra.runs.schema import TARGET
from lra.settings.added_keys import USER_GROUPS
from lra.settings.check_values import check_typed
from lra.settings.compose import compose_config, sweep_params
from lra.settings.declared import (
    Option,
    class_of,
    declared_in_group,
    group_options,
    groups_in,
    keys_of,
    names_in,
    option_of,
)
from lra.settings.other_words import last_part
from lra.settings.override_values import as_text, one_by_one, parse, values_of, with_value
from lra.settings.read_override import (
    group_of_choice,
    group_of_options,
    is_from_environment,
    read_override,
    with_environment,
)
from lra.settings.run_config import ATTENTION
from lra.settings.several_values import ALL, ONE_OF_SEVERAL
from lra.settings.unknown_option import Typed, not_installed, unknown_option
from lra.settings.unused_options import refuse_unused
from lra.types import UserError

REMOVABLE = ("recipe.parameter_groups.", "mixer.parameter_groups.", "recipe.optimizer.", "recipe.schedule.")
ANY_ATTENTION = f"mixer={ATTENTION}"  # its settings are `attention.…`; verbs over many runs put it beside mixers
NOT_PRETRAINED = "pretrain=none"  # verbs over many runs leave out what such a run has no use for
IMPOSSIBLE = {  # choices that others have
    "pretrain=causal": "the encoders see both directions, so they would see what they predict; type pretrain=masked"
}
CHANGES = (OverrideType.CHANGE, OverrideType.FORCE_ADD)


class Run(NamedTuple):
    """A configuration under the typed choices of groups, before options are changed, and all keys in it."""

    cfg: DictConfig
    keys: frozenset[str]


def check_overrides(
    verb: str, overrides: Sequence[str], *, sweep: bool, classes: bool = True, own: Sequence[str] = ()
) -> Overrides:
    """Refuse unknown groups, choices and keys, wrong values, and what has no effect, before anything runs.

    Args:
        verb: the verb, which names the configuration.
        overrides: as typed.
        sweep: whether a setting may have several values (the user typed -m).
        classes: whether to look into the signatures of classes, which are imported for that; else an option of a class
            is checked by the type of its default.
        own: options of the verb that was typed, where these are overrides of its runs: an unknown one may be meant.

    Returns:
        The overrides. A number for a text setting, as in run_group=2024, is put in quotes; text from the environment
        for another setting is put in place.

    Raises:
        UserError: for a wrong override, with the most similar correct one.
    """
    names = conf_choices()
    typed = [_read(text, verb, names) for text in overrides if not text.startswith("-")]
    if not sweep:
        _refuse_several(typed, verb)
    typed = [each for each in typed if not _is_left_out(verb, each)]  # Hydra would refuse the override
    varied = _varied(typed)
    groups = [each for each in typed if each.key_or_group in names and not each.is_delete()]
    _check_groups(verb, groups, own)
    _check_choices(verb, groups, names)
    groups += [each for each in varied if each.key_or_group in names]
    settings = [each for each in (*typed, *varied) if each not in groups and not each.is_hydra_override()]
    runs = _runs(verb, groups, settings, own)
    for each in settings:
        _check_key(each, runs, names, verb, own)
    whole = _with_added(verb, groups, settings, runs, classes=classes)
    meant = {each.input_line: each for each in typed}
    for each in (each for each in settings if not each.is_delete()):
        option = _option(each.key_or_group, runs, whole, classes=classes and each in typed)
        meant[each.input_line] = _as_meant(each, option, verb, sweep=sweep)
        check_typed(option, each, values_of(meant[each.input_line]), runs[0].cfg)
    if classes and not any(each.input_line == ONE_OF_SEVERAL for each in typed):
        refuse_unused(verb, [each for each in settings if each in typed], groups, settings, runs[0].cfg)
    flags = [flag for flag in overrides if flag.startswith("-")]
    return Overrides([*flags, *(str(meant[each.input_line].input_line) for each in typed)])


def _read(text: str, verb: str, names: Collection[str]) -> Parsed:
    """Read an override; of a group also what the environment says."""
    typed = read_override(text, verb)
    is_group = typed.key_or_group in names
    return with_environment(typed, verb) if is_group and is_from_environment(typed) else typed


def _refuse_several(typed: Sequence[Parsed], verb: str) -> None:
    """Refuse several values of one run: they may be meant as several runs, or as one text with commas."""
    several = next((each for each in typed if each.is_sweep_override()), None)
    if several is None:
        return
    right = typed_command(verb, str(several.input_line), flags=["-m"])
    line = f"{several.input_line} names several values; to run each type: {right}"
    group, _, name = several.key_or_group.rpartition(".")
    if Option(several.key_or_group, declared_in_group(group).get(last_part(name))).is_text:
        as_one = override(several.get_key_element(), Override(several.input_line).text)
        line += f", or if it is one text: {typed_command(verb, as_one)}"
    raise UserError(line, kind="several_values", key=several.key_or_group, right=right)


def _option(key: str, runs: Sequence[Run], whole: DictConfig, *, classes: bool) -> Option:
    """Find a typed option in the first run that has it, or among the added ones."""
    there = next((run.cfg for run in runs if key in run.keys), None)
    return option_of(whole if there is None else there, key, classes=classes, added=there is None)


def _as_meant(typed: Parsed, option: Option, verb: str, *, sweep: bool) -> Parsed:
    """Read an override again for its option: the numbers of a text as texts, other values from the environment."""
    if option.is_text:
        return parse(as_text(typed))
    if not is_from_environment(typed):
        return typed
    filled = with_environment(typed, verb)
    if not sweep:
        _refuse_several([filled], verb)
    return filled


def _is_left_out(verb: str, typed: Parsed) -> bool:
    """Tell whether an override says that a config group is null, and without the override it is."""
    if values_of(typed) != [None] or typed.type is not OverrideType.CHANGE:
        return False
    chosen = compose_config(verb, with_hydra=True).hydra.runtime.choices
    return typed.key_or_group in chosen and chosen[typed.key_or_group] in (None, "null")


def _check_groups(verb: str, groups: Sequence[Parsed], own: Sequence[str]) -> None:
    """Refuse the choice of a config group that the verb has not, before Hydra says so in its own words."""
    for each in groups:
        key = each.key_or_group
        if key not in groups_in(verb) and key not in names_in(verb) and each.type is OverrideType.CHANGE:
            cfg, value = compose_config(verb), Override(each.input_line).text
            raise unknown_option(key, cfg, group_options(cfg, "", verb=verb), Typed(verb=verb, value=value, own=own))


def _check_choices(verb: str, groups: list[Parsed], names: Mapping[str, list[str]]) -> None:
    for each in groups:
        known = names[each.key_or_group]
        for value in values_of(each):
            for name in value if each.key_or_group in USER_GROUPS and isinstance(value, list) else [value]:
                if isinstance(name, dict):
                    raise group_of_options(each.key_or_group, name)
                if str(name) not in known:
                    hint = IMPOSSIBLE.get(f"{each.key_or_group}={name}") or _of_another_group(str(name), verb)
                    hint = hint or not_installed(each.key_or_group, str(name)) or nearest(str(name), known)
                    line = f"{with_value(each, name)} is not known; {hint}"
                    raise UserError(line, kind="unknown_choice", key=each.key_or_group, value=name, right=known)


def _of_another_group(name: str, verb: str) -> str | None:
    """A hint at another group of the verb that has a choice of this name."""
    group = group_of_choice(name, verb)
    return None if group is None else f"did you mean {group}={name}?"


def _varied(typed: list[Parsed]) -> list[Parsed]:
    """What the file of `sweep=NAME` varies beside what was typed; nothing in one of its cells.

    Where it says `attention: all` and that is not spelled out yet, what was typed takes its place, such as mixers.
    """
    sweeps = [values_of(each)[-1] for each in typed if each.key_or_group == "sweep" and not each.is_delete()]
    if not sweeps or any(each.input_line == ONE_OF_SEVERAL for each in typed):
        return []
    keys = {each.key_or_group for each in typed}
    params = sweep_params(str(sweeps[-1]))
    return [parse(f"{key}={values}") for key, values in params.items() if key not in keys and values != ALL]


def _runs(verb: str, groups: list[Parsed], settings: list[Parsed], own: Sequence[str]) -> list[Run]:
    """Compose the first run, then those with another choice of a swept group whose options are changed.

    `own` are the options of a verb over many runs; `lra train -m` has none.

    Raises:
        UserError: for an option that some choices have and others lack.
    """
    axes = {each.key_or_group: one_by_one(str(each.input_line)) for each in groups}
    runs = [_composed(verb, [alternatives[0] for alternatives in axes.values()])]
    for group in (group for group, alternatives in axes.items() if len(alternatives) > 1):
        changed = [each for each in settings if each.key_or_group.startswith(f"{group}.") and each.type in CHANGES]
        if not changed:
            continue
        beside = [alternatives[0] for name, alternatives in axes.items() if name != group]
        choices: dict[str, Run] = {choice: _composed(verb, [*beside, choice]) for choice in axes[group]}
        runs += choices.values()
        for choice in (ANY_ATTENTION, NOT_PRETRAINED) if own else (ANY_ATTENTION,):
            choices.pop(choice, None)
        for each in changed:
            lacking = [choice for choice, run in choices.items() if each.key_or_group not in run.keys]
            if 0 < len(lacking) < len(choices):
                leave = f"leave {', '.join(lacking)} or {each.input_line} out"
                cfg = choices[lacking[0]].cfg
                options = group_options(cfg, group, classes=False)
                raise unknown_option(each.key_or_group, cfg, options, advice=leave)
    return runs


def _composed(verb: str, overrides: list[str]) -> Run:
    cfg = compose_config(verb, overrides)
    return Run(cfg, frozenset(keys_of(cfg)))


def _check_key(
    typed: Parsed, runs: Sequence[Run], names: Mapping[str, list[str]], verb: str, own: Sequence[str]
) -> None:
    """Refuse an option that is not there, the addition of one that is, and what would have no effect."""
    cfg, text, key = runs[0].cfg, str(typed.input_line), typed.key_or_group
    group, _, name = key.rpartition(".")
    data = OmegaConf.select(cfg, "task.data") or {}
    if not any(key in run.keys for run in runs):
        if not typed.is_add() and not typed.is_force_add():
            options = group_options(cfg, group, classes=False, verb=verb)
            value = Override(text).text or None
            raise unknown_option(key, cfg, options, Typed(verb=verb, value=value, own=own))
    elif typed.is_delete():
        if not _is_removable(key, runs):
            right = f"{key}.{TARGET}=CLASS" if class_of(cfg, key) else f"{key}=VALUE"
            line = f"{text} takes away an option that every run needs; to change it type {right}"
            raise UserError(line, kind="needed", key=key, right=right)
    elif typed.is_add():
        right = shell_word(text.lstrip("+"))
        line = f"{text} adds an option that is there already; to change it type {right}"
        raise UserError(line, kind="there_already", key=key, right=right)
    elif "" in values_of(typed) and not group and key != "what":  # as a path it would be the current folder
        raise UserError(f"{key}= is empty; type a value, or leave it out", kind="empty", key=key)
    elif group == "task" and name in data and data[name] != cfg.task[name]:
        line = f"{text} has no effect at size={cfg.size.name}, whose {name} is {data[name]}"
        raise UserError(f"{line}; leave it out, or choose size=full", kind="no_effect", key=key)
    elif name == "name" and group in names:  # the record would then have the name of another
        wrong = [value for value in map(str, values_of(typed)) if value in names[group] and value != cfg[group].name]
        if wrong:
            line = f"{with_value(typed, wrong[0])} would give {group}={cfg[group].name} the name of another"
            raise UserError(f"{line}; to choose that one type {group}={wrong[0]}")


def _is_removable(key: str, runs: Sequence[Run]) -> bool:
    """Tell whether a run can do without an option: an argument of the optimizer, a callback, or a logger."""
    group, _, name = key.partition(".")
    is_entry = group in USER_GROUPS and "." not in name and any(class_of(run.cfg, key) for run in runs)
    return is_entry or key == "logger.wandb" or key.startswith(REMOVABLE)


def _with_added(
    verb: str, groups: Sequence[Parsed], settings: Sequence[Parsed], runs: Sequence[Run], *, classes: bool
) -> DictConfig:
    """Compose the first run with its options, where some are added; else without, as a wrong value may not compose.

    Raises:
        UserError: for an added option that nothing reads.
    """
    added = [each for each in settings if not any(each.key_or_group in run.keys for run in runs)]
    if not added:
        return runs[0].cfg
    of_first = [each for each in settings if each in added or each.key_or_group in runs[0].keys]
    firsts = [text for each in (*groups, *of_first) for text in one_by_one(str(each.input_line))[:1]]
    whole = compose_config(verb, firsts)
    for each in added:
        _check_added(each.key_or_group, runs[0], whole, verb, classes=classes)
    return whole


def _check_added(key: str, first: Run, whole: DictConfig, verb: str, *, classes: bool) -> None:
    """Refuse an added option that nothing reads; it may be a part of an argument of a class."""
    parts = key.split(".")
    for group, name in ((".".join(parts[:end]), name) for end, name in enumerate(parts)):
        options = group_options(whole, group, classes=classes, verb=verb)
        part, known = f"{group}.{name}".lstrip("."), options.kinds if options.grows else ()
        if options.owner and part not in first.keys and name not in (*known, *NO_OPTION_KEYS):
            raise unknown_option(part, first.cfg, options, Typed(verb=verb))


def check_mixer(overrides: Overrides) -> None:
    """Refuse `attention` options beside a mixer that is not self-attention, and the other way round: without effect.

    Verbs over many runs do not call this: they may compare an attention with another mixer.

    Raises:
        UserError: when both are typed.
    """
    mixers = [str(value) for each in overrides.only("mixer") for value in values_of(parse(each))]
    silent = {"mixer": ATTENTION in mixers, ATTENTION: bool({*mixers} - {ATTENTION})}
    for each in overrides:
        if silent.get(each.group) and each.has_value and each.key != "mixer":
            raise UserError(
                f"{each} has no effect beside mixer={','.join(mixers)}; leave one of the two out, or to"
                " compare both type: lra compare run attention=nystrom mixer=s4d",
                kind="no_effect",
                key=each.key,
            )
