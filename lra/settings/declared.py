"""What options a config group has, with their declared types.

The types are those of its class's signature and of `option_groups`.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import yaml
from hydra.utils import get_class, get_object
from omegaconf import DictConfig, OmegaConf

from lra.base.option_types import argument_types
from lra.base.probes import GIVEN
from lra.runs.schema import TARGET
from lra.settings.added_keys import INSTEAD
from lra.settings.command_options import own_options
from lra.settings.compose import CONF
from lra.settings.option_groups import CLOSED, EXAMPLES, GROUPS, IMAGES, OF_IMAGES, PARAMETER_GROUP, PARAMETER_GROUPS

OWN = own_options()
DIMS = "dims"  # the encoder's dimensions, which it hands to each attention and mixer


class Options(NamedTuple):
    """The options of a group.

    Attributes:
        kinds: their declared types by name.
        owner: who takes no others; None if others are taken.
        grows: whether one may be added that the configuration lacks; what our own groups lack, nothing reads.
    """

    kinds: Mapping[str, object]
    owner: str | None = None
    grows: bool = True


class Option(NamedTuple):
    """An option, with the type of its values.

    Attributes:
        key: with dots.
        kind: the type.
        example: a right value; None: null, or none is known.
    """

    key: str
    kind: object
    example: object = None

    @property
    def is_text(self) -> bool:
        """Whether its values are texts, among which a typed number is one too."""
        return self.kind in (str, str | None)


def option_of(cfg: DictConfig, key: str, *, classes: bool, added: bool = False) -> Option:
    """Find an option. One that declares no type has that of its default; null is right if it is that.

    Args:
        cfg: a configuration that has it.
        key: the option.
        classes: whether to look into the signatures of classes, which are imported for that.
        added: whether it has a value there only because it is typed, and so no default.
    """
    group, _, name = key.rpartition(".")
    kind: Any = group_options(cfg, group, classes=classes).kinds.get(name, Any)
    if added:
        return Option(key, kind, EXAMPLES.get(key))
    default: object = None if OmegaConf.is_missing(cfg, key) else OmegaConf.select(cfg, key)
    if OmegaConf.is_config(default):
        default = OmegaConf.to_container(default)
    if kind is Any:
        kind = str if default is None else type(default)
    return Option(key, kind | None if default is None else kind, default)


def group_options(cfg: DictConfig, group: str, *, classes: bool = True, verb: str | None = None) -> Options:
    """Collect the options that a group may have.

    Args:
        cfg: the configuration.
        group: a group, as a dotted path; "" is that of the command's own options.
        classes: whether to look into the signatures of classes, which are imported for that.
        verb: the verb that composed the configuration, whose own groups have no other options; None for a stored
            configuration: that of another version may have others.
    """
    target = class_of(cfg, group) if classes else None
    kinds, owner, _ = declared_by_class(target) if target else Options({})
    if group in ("attention", "mixer"):
        kinds = {name: kind for name, kind in kinds.items() if name != DIMS}
    declared = declared_in_group(group)
    task = OmegaConf.select(cfg, "task.name") if group in ("task", "task.data") else None
    if task in OF_IMAGES:
        declared = {**declared, **IMAGES}
    if group == "task.data":
        declared = {**declared, **_of_probe(cfg)}
    if group == "trainer" and {*cfg.get(group, ())} - {*declared}:
        kinds, owner = trainers_own(), "the trainer"
    if verb and not group:
        kinds = {name: declared.get(name, Any) for name in (*names_in(verb), *CLOSED)}
        return Options(kinds, f"lra {verb}", grows=False)
    if verb and (group in CLOSED or (task and (CONF / "task" / f"{task}.yaml").is_file())):  # no task of a user's
        return Options(declared, group, grows=False)
    if verb and group == "logger.wandb":  # a misspelt one, or a key, must not come as far as a file
        return Options(declared, "logger.wandb")
    if group == "recipe.optimizer" and owner:  # the declaration has ranges of options that not all optimizers take
        declared = {name: kind for name, kind in declared.items() if name in kinds}
    return Options({**kinds, **declared}, owner)


def _of_probe(cfg: DictConfig) -> Mapping[str, object]:
    """Collect the `data` settings that the function of a probe takes by name; another task has none."""
    function = class_of(cfg, "task.open_source.generate")
    kinds = declared_by_class(function).kinds if function else {}
    return {name: kind for name, kind in kinds.items() if name not in GIVEN}


def class_of(cfg: DictConfig, group: str) -> str | None:
    """Name the class that takes the options of a group as arguments; None for a group without one."""
    target = OmegaConf.select(cfg, f"{group}.{TARGET}") if group else None
    return target if isinstance(target, str) else None


def declared_in_group(group: str) -> Mapping[str, object]:
    """Look up the declared types of the options of a group that no class takes; none for another group."""
    if PARAMETER_GROUPS.fullmatch(group):
        return PARAMETER_GROUP
    return GROUPS.get(group, {}) if group else OWN


@cache
def declared_by_class(target: str) -> Options:
    """Collect the arguments of a class; one that cannot be imported takes any: making it says why."""
    try:
        constructor = get_object(target)
    except Exception:  # the user's module may raise anything when it is imported
        return Options({})
    kinds, takes_others = declared_types(constructor)
    return Options(kinds, None if takes_others else target)


def class_named(target: str) -> type:
    """The class of a `_target_`."""
    return get_class(target)


def declares(target: str, attribute: str, otherwise: Any) -> Any:
    """What a class declares of itself, such as `effective_with`; or what is so of one that does not, or is no class."""
    try:
        return getattr(get_object(target), attribute, otherwise)
    except Exception:  # the user's module may raise anything when it is imported
        return otherwise


@cache
def needed_by_class(target: str) -> list[str]:
    """List the options that a class needs: its keyword arguments without a default."""
    keyword_only = [each for each in _parameters(get_object(target)) or () if each.kind is each.KEYWORD_ONLY]
    return [parameter.name for parameter in keyword_only if parameter.default is parameter.empty]


@cache
def trainers_own() -> Mapping[str, object]:
    """Collect the arguments of Lightning's Trainer that may be added: all but those that lra sets itself."""
    kinds = declared_by_class("pytorch_lightning.Trainer").kinds  # slow to import, so only where something is added
    return {name: kind for name, kind in kinds.items() if name not in INSTEAD}


def declared_types(maker: Callable[..., Any]) -> tuple[dict[str, object], bool]:
    """Collect the declared types of the arguments of a class or function, and whether it takes others too (`**`)."""
    parameters = _parameters(maker)
    if parameters is None:
        return {}, True
    function = maker.__init__ if isinstance(maker, type) else maker  # type: ignore[misc]
    declared = argument_types(inspect.unwrap(function))
    named = [each.name for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    takes_others = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return {name: declared.get(name, Any) for name in named}, takes_others


def _parameters(maker: object) -> list[inspect.Parameter] | None:
    """List the parameters; None if Python does not know them, as those of a class that is written in C."""
    try:
        return list(inspect.signature(maker).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


@cache
def names_in(verb: str) -> frozenset[str]:
    """The settings and config groups in a verb's file, and in that which its defaults list begins with."""
    content = yaml.safe_load((CONF / f"{verb}.yaml").read_text("utf-8"))
    names = set(content) - {"defaults", "hydra"}
    for entry in content.get("defaults", []):
        if isinstance(entry, dict):
            chosen = (group for group, choice in entry.items() if choice is not None)
            names |= {group for group in chosen if not group.startswith("override ")}
        elif entry != "_self_":
            names |= names_in(entry)
    return frozenset(names)


@cache
def groups_in(verb: str) -> frozenset[str]:
    """The config groups of which a verb's defaults list has a choice, or may have one."""
    content = yaml.safe_load((CONF / f"{verb}.yaml").read_text("utf-8"))
    groups: set[str] = set()
    for entry in content.get("defaults", []):
        if isinstance(entry, dict):
            groups |= {str(group).removeprefix("optional ").partition("@")[0] for group in entry}
        elif entry != "_self_":
            groups |= groups_in(entry)
    return frozenset(groups)


def keys_of(cfg: Mapping[Any, Any]) -> list[str]:
    """Every key of a configuration, branches too, with dots."""
    tree: Any = OmegaConf.to_container(cfg) if isinstance(cfg, DictConfig) else cfg
    below = {str(name): keys_of(value) if isinstance(value, dict) else [] for name, value in tree.items()}
    return [key for name, keys in below.items() for key in (name, *(f"{name}.{key}" for key in keys))]
