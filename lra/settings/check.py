"""The check of a composed configuration, before anything is prepared, built or written.

Values have their declared types and do not contradict each other; every option is read by something.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_type_hints

import yaml
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from lra.base.arguments import (
    ANY_VALUE,
    Positive,
    WrongValueError,
    allows,
    check_options,
    declared_types,
    required_arguments,
)
from lra.base.checked_json import checked
from lra.base.files import checked_name
from lra.base.paths import NO_OPTION_KEYS, conf_dir
from lra.runs.schema import TARGET, TUNED, is_ours
from lra.settings.added_keys import USER_GROUPS, check_additions
from lra.settings.option_groups import CLOSED, GROUPS, OF_IMAGES, Images, ParameterGroup
from lra.settings.unknown_options import PRINT, nearest
from lra.training.compiled import check_graphs, check_parts
from lra.types import UserError

LIGHTNINGS_TRAINER = "pytorch_lightning.Trainer"
NOT_CHECKED = ("hydra", "paths", "codec", "open_source", "sizes")
ENVIRONMENT = re.compile(r"\$\{oc\.env:(\w+)")  # in a file: the variable that a value is from
PARAMETER_GROUP = re.compile(r"(recipe|mixer)\.parameter_groups\.[^.]+")


class UnknownArgumentError(UserError):
    """An option that the class of its group does not take."""

    def __init__(self, owner: str, key: str, declared: Mapping[str, object]):
        line = f"{owner} takes no {key.rpartition('.')[2]}; it takes {', '.join(declared)}"
        super().__init__(line, kind="unknown_option", key=key, right=list(declared))


@cache
def declared_in_group(group: str) -> dict[str, object]:
    """Collect the declared types of the options of a group without a class; none for another group."""
    declaration = ParameterGroup if PARAMETER_GROUP.fullmatch(group) else GROUPS.get(group)
    return get_type_hints(declaration, include_extras=True) if declaration else {}


@cache
def declared_by_class(target: str) -> tuple[dict[str, object], bool]:
    """Collect the declared types of the arguments of a class, and whether it takes others.

    A class that cannot be imported takes any: making it says why.
    """
    try:
        constructor = get_object(target)
    except Exception:  # the user's module may raise anything when it is imported
        return {}, True
    return declared_types(constructor) if callable(constructor) else ({}, True)


@cache
def needed_by_class(target: str) -> list[str]:
    """List the options that a class needs: its keyword arguments without a default; none of a class of no signature."""
    constructor = get_object(target)
    return required_arguments(constructor) if callable(constructor) else []


def class_of(cfg: DictConfig, group: str) -> str | None:
    """Name the class that takes the options of a group as arguments; None for a group without one."""
    if group == "trainer":
        return LIGHTNINGS_TRAINER if set(cfg.trainer) - declared_in_group(group).keys() else None
    target = OmegaConf.select(cfg, f"{group}.{TARGET}") if group else None
    return target if isinstance(target, str) else None


def kinds_of(cfg: DictConfig, group: str, *, classes: bool = True) -> tuple[dict[str, object], str | None]:
    """Collect the declared types of a group's options, and the class that takes them, if it takes no others.

    Args:
        cfg: the configuration.
        group: a group, as a dotted path; "" is that of the command's own options.
        classes: whether to look into the signatures of classes, which are imported for that.
    """
    target = class_of(cfg, group) if classes else None
    of_class, takes_others = declared_by_class(target) if target else ({}, True)
    kinds = of_class | declared_in_group(group)
    if group in ("task", "task.data") and cfg.task.get("name") in OF_IMAGES:
        kinds |= get_type_hints(Images)
    return kinds, None if takes_others or target == LIGHTNINGS_TRAINER else target


def check_values(cfg: DictConfig, *, classes: bool, within: tuple[str, ...] | None = None) -> None:
    """Refuse a configuration with a value that no declared type allows.

    Args:
        cfg: the configuration; what an interpolation stands for is checked.
        classes: whether to check the arguments of classes too, which are imported for that.
        within: the groups to check, with those in them; None: all.

    Raises:
        WrongValueError: for the first wrong value.
        UnknownArgumentError: for an argument that a class does not take.
    """
    tops = within or tuple(str(name) for name in cfg if name not in NOT_CHECKED)
    trees = {name: OmegaConf.select(cfg, name) for name in tops if not OmegaConf.is_missing(cfg, name)}
    plain = {
        name: OmegaConf.to_container(tree, resolve=True) if OmegaConf.is_config(tree) else tree
        for name, tree in trees.items()
    }
    values: dict[str, object] = {}
    kinds: dict[str, object] = {}
    for group, options in _groups("", plain):
        declared_here, owner = kinds_of(cfg, group, classes=classes)
        for name, value in options.items():
            if name in NO_OPTION_KEYS:
                continue
            key, kind = f"{group}.{name}".lstrip("."), declared_here.get(name, ANY_VALUE)
            if owner and name not in declared_here:
                raise UnknownArgumentError(owner, key, declared_here)
            if group or kind is not str or value is not None:  # a command's file says null for no choice
                values[key], kinds[key] = value, kind
    try:
        check_options(values, kinds)
    except WrongValueError as error:
        group, _, name = str(error.key).rpartition(".")
        node = OmegaConf.to_container(OmegaConf.select(cfg, group) if group else cfg)
        assert isinstance(node, dict)
        variable = ENVIRONMENT.search(str(node[name]))
        raise error.reworded(f"{variable[1]}: {error}") if variable else error from None


def _groups(group: str, values: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield group, values
    for name, value in values.items():
        if isinstance(value, dict) and name not in NOT_CHECKED:
            yield from _groups(f"{group}.{name}".lstrip("."), value)


LEAST_LENGTH = 5  # one more than the tokens of the shortest ListOps expression, because the bound is exclusive
DRAWN_SIDE = 32  # pixels in a row of a source image, unless the task sets `drawn_side`
ON_CPU_INSTEAD = {"16-mixed": "bf16", "tf32": "float32"}  # precisions that only GPUs have


def check_config(cfg: DictConfig, verb: str) -> None:
    """Refuse a configuration that no command could use; `lra.build.check_classes` checks the arguments of classes.

    Args:
        cfg: the configuration.
        verb: the verb that composed it.

    Raises:
        UserError: for the first wrong option, with its value and what is right.
    """
    check_stored(cfg, classes=False)
    _refuse_unused(cfg, verb)


def check_stored(cfg: DictConfig, *, classes: bool = True) -> None:
    """Refuse a configuration whose values are wrong, or contradict each other; it may lack options.

    Raises:
        UserError: for the first wrong option, with its value and what is right.
    """
    check_values(cfg, classes=classes)
    if cfg.get("run_group") is not None:
        checked_name(cfg.run_group, "run_group=", example="mine", nested=True)
    check_additions({group: OmegaConf.to_container(cfg[group]) for group in ("trainer", *USER_GROUPS) if group in cfg})
    if cfg.get("tuned") is not None:
        checked(TUNED, OmegaConf.to_container(cfg.tuned), "tuned", "lra table run recipe=tuned sets it")
    _check_schedule(cfg)
    data = OmegaConf.select(cfg, "task.data")
    if data is not None:
        _check_data(data)
    if OmegaConf.select(cfg, "trainer") is not None:
        _check_trainer(cfg)


def _check_schedule(cfg: DictConfig) -> None:
    """Refuse a schedule of ours that ends before the run; each number by itself is checked already."""
    keys = ("steps", "schedule.steps", "schedule._target_")
    steps, scheduled, target = (OmegaConf.select(cfg, f"recipe.{key}") for key in keys)
    if isinstance(steps, int) and isinstance(scheduled, int) and scheduled < steps and is_ours(target):
        raise UserError(
            f"recipe.schedule.steps={scheduled} is fewer than recipe.steps={steps}: there would be no learning rate for"
            f" the last steps; type recipe.schedule.steps={steps}"
        )


def _check_trainer(cfg: DictConfig) -> None:
    """Refuse settings of the trainer that contradict each other; each by itself is checked already."""
    trainer = cfg.trainer
    if trainer.accelerator == "cpu" and trainer.precision in ON_CPU_INSTEAD:
        raise UserError(
            f"trainer.precision={trainer.precision} needs a GPU: on a CPU torch would compute in"
            f" {ON_CPU_INSTEAD[trainer.precision]} instead; type trainer=gpu, or trainer.precision=32-true",
            kind="needs_gpu",
            key="trainer.precision",
            value=trainer.precision,
        )
    if OmegaConf.select(cfg, "model.attention_dtype") == "autocast" and not trainer.precision.endswith("-mixed"):
        raise UserError(
            f"model.attention_dtype=autocast has no effect on trainer.precision={trainer.precision}; type"
            " trainer.precision=bf16-mixed, or leave it out",
            kind="no_effect",
            key="model.attention_dtype",
            right="trainer.precision=bf16-mixed",
        )
    clip = trainer.get("gradient_clip_val")
    if clip is not None and not allows(Positive, clip):  # 0 would clip nothing
        raise WrongValueError("trainer.gradient_clip_val", clip, Positive, default=1)
    if isinstance(trainer.accumulate_grad_batches, int):
        check_parts(cfg.get("compile"), trainer.accumulate_grad_batches)
    if OmegaConf.select(cfg, "mixer.name") in (None, "attention"):  # an older run's stored configuration has no mixer
        check_graphs(cfg.get("compile"), cfg.get("attention") or {})
    if trainer.get("fused_optimizer") and trainer.get("gradient_clip_val") and trainer.precision.endswith("-mixed"):
        raise UserError(
            f"trainer.precision={trainer.precision} cannot clip gradients with a fused optimizer;"
            " type trainer.fused_optimizer=false, or leave trainer.gradient_clip_val out"
        )


def _check_data(data: Any) -> None:
    """Refuse lengths of a task's data that contradict each other; each number by itself is checked already."""
    longest, shortest, side = (data.get(name) for name in ("max_length", "min_length", "side"))
    if longest is None:  # a stored configuration may lack settings that only making data needs
        return
    if longest > data.get("seq_len", longest):
        raise UserError(
            f"task.data.max_length={longest} is more than task.data.seq_len={data.seq_len}, the longest that the model"
            f" takes; type task.data.max_length={data.seq_len}"
        )
    if shortest is not None and (longest < LEAST_LENGTH or shortest > longest - 2):
        raise UserError(
            f"no expression has more than task.data.min_length={shortest} and fewer than task.data.max_length={longest}"
            f" tokens; type for example task.data.min_length={max(longest, 100) // 2}"
        )
    drawn = data.get("drawn_side", DRAWN_SIDE)
    if side is not None and (drawn % side or side * side > longest):
        raise UserError(
            f"task.data.side={side} does not divide the {drawn} pixels of a row, or {side} × {side} pixels are more"
            f" than task.data.max_length={longest}; type for example task.data.side=16"
        )


def _refuse_unused(cfg: DictConfig, verb: str) -> None:
    """Refuse a composed configuration with a setting that nothing reads.

    A setting that another one refers to, as in `lr: ${recipe.my_rate}`, is read.

    Args:
        cfg: the configuration, with its interpolations.
        verb: the verb that composed it.

    Raises:
        UserError: with the setting, and the one that is most like it.
    """
    is_our_task = "task" in cfg and (conf_dir() / "task" / f"{cfg.task.name}.yaml").is_file()
    known = {group: [*declared_in_group(group), *NO_OPTION_KEYS] for group in CLOSED if group in cfg}
    if is_our_task:
        known |= {group: [*declared_in_group(group), *Images.__annotations__] for group in ("task", "task.data")}
    known[""] = [*_names_in(verb), *CLOSED]  # a size brings its recipe along, to verbs that do not train too
    for group, names in known.items():
        prefix = f"{group}." if group else ""
        for name in map(str, OmegaConf.select(cfg, group) if group else cfg):
            if name not in names and f"{name}}}" not in OmegaConf.to_yaml(cfg):
                raise UserError(
                    f"{prefix}{name}, from a file of your own, is an option that nothing reads;"
                    f" {nearest(f'{prefix}{name}', [f'{prefix}{other}' for other in names])}; {PRINT}",
                    kind="unknown_option",
                    key=f"{prefix}{name}",
                )


@cache
def _names_in(verb: str) -> frozenset[str]:
    """The settings and config groups in a verb's file, and in that which its defaults list begins with."""
    content = yaml.safe_load((conf_dir() / f"{verb}.yaml").read_text("utf-8"))
    names = set(content) - {"defaults", "hydra"}
    for entry in content.get("defaults", []):
        if isinstance(entry, dict):
            chosen = (group for group, choice in entry.items() if choice is not None)
            names |= {group for group in chosen if not group.startswith("override ")}
        elif entry != "_self_":
            names |= _names_in(entry)
    return frozenset(names)
