"""Check the overrides that a user types: known keys and choices, with values of their declared types."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from omegaconf import DictConfig, OmegaConf
from pydantic.fields import FieldInfo

from lra.base.arguments import WrongValueError, allows, as_typed
from lra.base.paths import NO_OPTION_KEYS, conf_choices
from lra.runs.schema import TARGET
from lra.settings.added_keys import USER_GROUPS
from lra.settings.config import ATTENTION, load_config, sweep_params
from lra.settings.declared import class_of, group_options, keys_of, nearest, unknown_option
from lra.settings.typed import Typed, group_of_options, read_override
from lra.types import UserError

REMOVABLE = ("recipe.parameter_groups.", "mixer.parameter_groups.", "recipe.optimizer.", "recipe.schedule.")
ANY_ATTENTION = f"mixer={ATTENTION}"  # its settings are `attention.…`; verbs over many runs put it beside mixers
HYDRAS = ("hydra.", "hydra/")  # options of Hydra itself, and its config groups
TEXTS = (str, str | None)


class Run(NamedTuple):
    """A configuration under the typed choices of groups, before options are changed, and all keys in it."""

    cfg: DictConfig
    keys: frozenset[str]


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
    typed = [read_override(word, verb) for word in overrides if not word.startswith("-")]
    several = next((each for each in typed if each.is_sweep), None)
    if several and not sweep:
        right = f"lra {verb} -m {several.word}"
        line = f"{several.word} names several values; to run each type: {right}"
        raise UserError(line, kind="several_values", key=several.key, right=right)
    typed = [each for each in typed if not _is_left_out(verb, each)]  # Hydra would refuse the word
    names, varied = conf_choices(), _varied(typed)
    groups = [each for each in typed if each.key in names and each.sign != "~"]
    _check_choices(groups, names)
    groups += [each for each in varied if each.key in names]
    settings = [each for each in (*typed, *varied) if each not in groups and not each.key.startswith(HYDRAS)]
    runs = _runs(verb, groups, settings)
    for each in settings:
        _check_key(each, runs, names, verb)
    added = [each for each in settings if not any(each.key in run.keys for run in runs)]
    first = [each for each in settings if each in added or each.key in runs[0].keys]
    whole = load_config(verb, [word for each in (*groups, *first) for word in each.words[:1]]) if added else None
    words, values = {}, []
    for each in (each for each in settings if each.sign != "~"):
        if whole is not None and each in added:
            _check_added(each.key, runs[0], whole, verb, classes=classes)
        kind, default = _kind(each.key, runs, whole, classes=classes and each in typed)
        words[each.word] = each.as_text() if kind in TEXTS else each.word
        values += [(each, kind, default, value) for value in each.values if "${" not in str(value)]
    for each, kind, default, value in values:  # what an interpolation stands for is checked when it is known
        as_text = as_typed(value) if kind in TEXTS and isinstance(value, int | float) else value
        if not allows(kind, as_text):
            raise WrongValueError(each.key, value, kind, default=default, typed=each.with_value(value))
    flags = [word for word in overrides if word.startswith("-")]
    return [*flags, *(words.get(each.word, each.word) for each in typed)]


def _is_left_out(verb: str, typed: Typed) -> bool:
    """Tell whether a word says that a config group is null, and without the word it is."""
    if typed.values != (None,) or typed.sign:
        return False
    chosen = load_config(verb, with_hydra=True).hydra.runtime.choices
    return typed.key in chosen and chosen[typed.key] in (None, "null")


def _check_choices(groups: list[Typed], names: Mapping[str, list[str]]) -> None:
    for each in groups:
        known = names[each.key]
        for value in each.values:
            for name in value if each.key in USER_GROUPS and isinstance(value, list) else [value]:
                if isinstance(name, dict):
                    raise group_of_options(each.key, name)
                if str(name) not in known:
                    line = f"{each.with_value(name)} is not known; {nearest(str(name), known)}"
                    raise UserError(line, kind="unknown_choice", key=each.key, value=name, right=known)


def _varied(typed: list[Typed]) -> list[Typed]:
    """What the file of `sweep=NAME` varies beside what was typed; nothing in one of its cells."""
    sweeps = [each.values[-1] for each in typed if each.key == "sweep" and each.sign != "~"]
    if not sweeps or any(each.word == "hydra.mode=RUN" for each in typed):
        return []
    keys = {each.key for each in typed}
    params = sweep_params(str(sweeps[-1]))
    return [read_override(f"{key}={values}") for key, values in params.items() if key not in keys]


def _runs(verb: str, groups: list[Typed], settings: list[Typed]) -> list[Run]:
    """Compose the first run, then those with another choice of a swept group whose options are changed.

    Raises:
        UserError: for an option that some choices have and others lack.
    """
    axes = {each.key: each.words for each in groups}
    runs = [_composed(verb, [words[0] for words in axes.values()])]
    for group in (group for group, words in axes.items() if len(words) > 1):
        changed = [each for each in settings if each.key.startswith(f"{group}.") and each.sign not in ("+", "~")]
        if not changed:
            continue
        beside = [words[0] for name, words in axes.items() if name != group]
        choices = {word: _composed(verb, [*beside, word]) for word in axes[group]}
        runs += choices.values()
        choices.pop(ANY_ATTENTION, None)
        for each in changed:
            lacking = [word for word, run in choices.items() if each.key not in run.keys]
            if 0 < len(lacking) < len(choices):
                leave = f"leave {', '.join(lacking)} or {each.word} out"
                cfg = choices[lacking[0]].cfg
                raise unknown_option(each.key, cfg, group_options(cfg, group, classes=False), advice=leave)
    return runs


def _composed(verb: str, words: Iterable[str]) -> Run:
    cfg = load_config(verb, [*words])
    return Run(cfg, frozenset(keys_of(cfg)))


def _check_key(typed: Typed, runs: Sequence[Run], names: Mapping[str, list[str]], verb: str) -> None:
    """Refuse an option that is not there, the addition of one that is, and what would have no effect."""
    cfg, key, (group, _, name) = runs[0].cfg, typed.key, typed.key.rpartition(".")
    if not any(key in run.keys for run in runs):
        if not typed.sign.startswith("+"):
            raise unknown_option(key, cfg, group_options(cfg, group, classes=False, verb=verb))
    elif typed.sign == "~":
        if not _is_removable(key, runs):
            right = f"{key}.{TARGET}=CLASS" if class_of(cfg, key) else f"{key}=VALUE"
            line = f"{typed.word} takes away an option that every run needs; to change it type {right}"
            raise UserError(line, kind="needed", key=key, right=right)
    elif typed.sign == "+":
        right = typed.word.lstrip("+")
        line = f"{typed.word} adds an option that is there already; to change it type {right}"
        raise UserError(line, kind="there_already", key=key, right=right)
    elif "" in typed.values and not group and key != "what":  # as a path it would be the current folder
        raise UserError(f"{key}= is empty; type a value, or leave it out", kind="empty", key=key)
    elif (
        group == "task" and name in (data := OmegaConf.select(cfg, "task.data") or {}) and data[name] != cfg.task[name]
    ):
        line = f"{typed.word} has no effect at size={cfg.size.name}, whose {name} is {data[name]}"
        raise UserError(f"{line}; leave it out, or choose size=full", kind="no_effect", key=key)
    elif name == "name" and group in names:  # the record would then have the name of another
        wrong = [value for value in map(str, typed.values) if value in names[group] and value != cfg[group].name]
        if wrong:
            line = f"{typed.with_value(wrong[0])} would give {group}={cfg[group].name} the name of another"
            raise UserError(f"{line}; to choose that one type {group}={wrong[0]}")


def _is_removable(key: str, runs: Sequence[Run]) -> bool:
    """Tell whether a run can do without an option: an argument of the optimizer, a callback, or a logger."""
    group, _, name = key.partition(".")
    is_entry = group in USER_GROUPS and "." not in name and any(class_of(run.cfg, key) for run in runs)
    return is_entry or key == "logger.wandb" or key.startswith(REMOVABLE)


def _check_added(key: str, first: Run, whole: DictConfig, verb: str, *, classes: bool) -> None:
    """Refuse an added option that nothing reads; it may be a part of an argument of a class."""
    parts = key.split(".")
    for group, name in ((".".join(parts[:end]), name) for end, name in enumerate(parts)):
        options = group_options(whole, group, classes=classes, verb=verb)
        is_there = f"{group}.{name}".lstrip(".") in first.keys
        if not is_there and options.owner and name not in (*(options.kinds if options.grows else ()), *NO_OPTION_KEYS):
            raise unknown_option(f"{group}.{name}".lstrip("."), first.cfg, options)


def _kind(key: str, runs: Sequence[Run], whole: DictConfig | None, *, classes: bool) -> tuple[object, object]:
    """Find the type of an option, and its default as an example.

    An option of a class that declares nothing has the type of its default. Null is right where it is the default.
    """
    group, _, name = key.rpartition(".")
    kind: Any
    cfg = next((run.cfg for run in runs if key in run.keys), None)
    if cfg is None:
        assert whole is not None
        kind = group_options(whole, group, classes=classes).kinds.get(name, Any)
        return kind, next(
            (each.examples[0] for each in get_args(kind) if isinstance(each, FieldInfo) and each.examples), None
        )
    kind = group_options(cfg, group, classes=classes).kinds.get(name, Any)
    default: object = None if OmegaConf.is_missing(cfg, key) else OmegaConf.select(cfg, key)
    if OmegaConf.is_config(default):
        default = OmegaConf.to_container(default)
    if kind is Any:
        kind = str if default is None else type(default)
    return kind | None if default is None else kind, default


def check_mixer(overrides: list[str]) -> None:
    """Refuse `attention` options beside a mixer that is not self-attention, and the other way round: without effect.

    Verbs over many runs do not call this: they may compare an attention with another mixer.

    Raises:
        UserError: when both are typed.
    """
    typed = [read_override(word) for word in overrides if "=" in word and not word.startswith("-")]
    mixers = [str(value) for each in typed if each.key == "mixer" for value in each.values]
    silent = {"mixer": ATTENTION in mixers, ATTENTION: bool({*mixers} - {ATTENTION})}
    for each in typed:
        group, _, option = each.key.partition(".")
        if silent.get(group) and (option or group == ATTENTION):
            raise UserError(
                f"{each.word} has no effect beside mixer={','.join(mixers)}; leave one of the two out, or to"
                " compare both type: lra compare run attention=nystrom mixer=s4d",
                kind="no_effect",
                key=each.key,
            )
