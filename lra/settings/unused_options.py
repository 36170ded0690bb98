"""Refuse options that are typed and cannot change a run, because another option turns off what they are about.

Such an option would move the run's hash, and make another row in a table, of the same numbers. A class says what turns
its options off (`effective_with`), `lra.settings.option_groups` says it of groups without a class. Files may set such
options, as a protocol sets those of all attentions.
"""

from collections.abc import Iterator, Sequence

from hydra.core.override_parser.types import Override as Parsed
from hydra.core.override_parser.types import OverrideType
from omegaconf import DictConfig, OmegaConf

from lra.base.option_types import Effects, allows, as_typed, choices_of
from lra.runs.schema import own_model
from lra.settings.compose import compose_config
from lra.settings.declared import class_of, declares, keys_of
from lra.settings.option_groups import EFFECTIVE_WITH, EXAMPLES
from lra.settings.override_values import one_by_one, product_of, values_of
from lra.types import UserError

GROUPS = ("attention", "mixer", "model", *EFFECTIVE_WITH)
ADDS = (OverrideType.ADD, OverrideType.FORCE_ADD)


def refuse_unused(
    verb: str, options: Sequence[Parsed], groups: Sequence[Parsed], beside: Sequence[Parsed], without: DictConfig
) -> None:
    """Refuse the first option that has another value than its default, and can change no number in any of the runs.

    Args:
        verb: the verb, which names the configuration.
        options: the typed options, whose keys and values are right.
        groups: the choices of groups, also those of a sweep's file; each may have several values.
        beside: all options, also those of a sweep's file.
        without: the configuration without the options.

    Raises:
        UserError: with the option that turns it off, and what to type.
    """
    for each in options:
        key = each.key_or_group
        if key.rpartition(".")[0] not in GROUPS or each.is_delete() or not _changes(each, without):
            continue
        if not any(has_effect(run, key) for run in _runs(verb, groups, beside)):
            raise _unused(each, next(_runs(verb, groups, beside)), without)


def has_effect(cfg: DictConfig, key: str) -> bool:
    """Tell whether an option may change a number; also one that another option refers to, as in `${recipe.my_rate}`."""
    group, _, name = key.rpartition(".")
    others = effects_in(cfg, group).get(name)
    if others is None or f"{name}}}" in OmegaConf.to_yaml(cfg):
        return True
    return any(allows(kind, OmegaConf.select(cfg, _in_full(other, group))) for other, kind in others.items())


def effects_in(cfg: DictConfig, group: str) -> Effects:
    """Collect the options of a group that may have no effect, with what gives them one, see `Effects`."""
    effects = dict(EFFECTIVE_WITH.get(group, {}))
    target, mixer = class_of(cfg, group), class_of(cfg, "mixer")
    if target:
        effects |= declares(target, "effective_with", {})
    if group == "model" and own_model(cfg.model) is None and mixer:
        effects |= {name: {} for name in declares(mixer, "ignores", ())}
    return effects


def _changes(typed: Parsed, without: DictConfig) -> bool:
    """Tell whether an override gives an option another value than it has without; factors of a value do."""
    values, default = values_of(typed), OmegaConf.select(without, typed.key_or_group)
    return not values or any(value != default for value in values)


def _runs(verb: str, groups: Sequence[Parsed], options: Sequence[Parsed]) -> Iterator[DictConfig]:
    """Compose the configuration of each run, of one seed; an option that a choice lacks is not of that run."""
    for choices in product_of(str(each.input_line) for each in groups):
        keys = {*keys_of(compose_config(verb, choices))}
        own = [each for each in options if each.key_or_group in keys or each.type in ADDS]
        axes = [str(each.input_line) for each in own if each.key_or_group != "seed"]
        for combination in product_of(filter(one_by_one, axes)):  # factors of a value are no values
            yield compose_config(verb, [*choices, *combination])


def _unused(typed: Parsed, cfg: DictConfig, without: DictConfig) -> UserError:
    """The error for an option that has no effect."""
    key = typed.key_or_group
    group, _, name = key.rpartition(".")
    others = {_in_full(other, group): kind for other, kind in effects_in(cfg, group)[name].items()}
    if others:
        why = " beside " + " and ".join(f"{other}={as_typed(OmegaConf.select(cfg, other))}" for other in others)
    else:
        why = f" on mixer={cfg.mixer.name}" if group == "model" else ", because no option refers to it"
    right = next(filter(None, (_right(other, kind, without) for other, kind in others.items())), None)
    line = f"{typed.input_line} has no effect{why}; leave it out" + (f", or type {right}" if right else "")
    values = values_of(typed)
    return UserError(line, kind="no_effect", key=key, value=values[0] if len(values) == 1 else values, right=right)


def _right(other: str, kind: object, without: DictConfig) -> str | None:
    """What to type so that another option has an allowed value: a word, its default, or an example."""
    default = OmegaConf.select(without, other)
    if choices := choices_of(kind):
        return f"{other}={as_typed(choices[0])}"
    if allows(kind, default):
        return f"{other}={as_typed(default)}"
    return f"+{other}={as_typed(EXAMPLES[other])}" if other in EXAMPLES else None


def _in_full(other: str, group: str) -> str:
    return other if "." in other else f"{group}.{other}"
