"""Configurations with types: of a run, and of a command with options of its own. Nobody else sees what Hydra composes.

A mistyped field is an error of the type check, as `config.recipe.step` is. `changed` makes another configuration, in
which what refers to the changed options follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_type_hints

from omegaconf import DictConfig, OmegaConf

from lra.base.option_types import CountOrZero, MayLack, Section, Seed
from lra.base.protocol import Protocol
from lra.runs.schema import Identity, own_model
from lra.settings.option_groups import (
    Callbacks,
    Compile,
    Debug,
    Pretrain,
    Recipe,
    Size,
    Task,
    Trainer,
)

ATTENTION = "attention"  # the mixer that is configured by `attention=NAME`
AUTO: Final = "auto"  # value of `trainer.accumulate_grad_batches`
Made = TypeVar("Made", bound="Config")


class _Field:
    """A part of a configuration, read when it is first used: its type is that of the annotation."""

    def __init__(self, otherwise: object):
        self.otherwise = otherwise

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, config: Config | None, owner: type) -> Any:
        if config is None:
            return self
        value = config.read(self.name.rstrip("_"), otherwise=self.otherwise)
        if isinstance(value, Mapping):
            value = _filled(_types_of(owner).get(self.name), value)
        config.__dict__[self.name] = value  # found there from now on
        return value


def part(otherwise: object = None) -> Any:
    """Declare a part of a configuration, by its annotation; `otherwise` is the value of one that lacks it."""
    return _Field(otherwise)


@cache
def _types_of(owner: type) -> Mapping[str, Any]:
    return get_type_hints(owner)


def _filled(kind: Any, values: Mapping[str, Any]) -> Any:
    """Make a group of its values; what a configuration lacks has its default, or is an error where it is used."""
    sections = {name: _filled(None, each) if isinstance(each, dict) else each for name, each in values.items()}
    if not isinstance(kind, type) or not is_dataclass(kind):
        return Section(sections)
    made: Any = object.__new__(kind)
    for each in fields(kind):
        key = each.name.rstrip("_")
        if key in sections:
            object.__setattr__(made, each.name, sections[key])
        elif each.default_factory is not MISSING:
            object.__setattr__(made, each.name, each.default_factory())
    return made


def _plain(node: DictConfig) -> dict[str, Any]:
    container = OmegaConf.to_container(node, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


class Paths:
    """Where data and runs are, and the folder of the run; each is found when it is used."""

    def __init__(self, config: Config):
        self._config = config

    @property
    def data(self) -> Path:
        """The folder of data."""
        return Path(self._config.value("paths.data"))

    @property
    def runs(self) -> Path:
        """The folder of runs."""
        return Path(self._config.value("paths.runs"))


class Config:
    """A configuration that Hydra has composed; `composed` is for what builds objects of it, and for its checks."""

    composed: DictConfig

    def __init__(self, composed: DictConfig):
        self.__dict__["composed"] = composed

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse what the other fields would not follow.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{name} cannot be set; make another configuration: cfg.changed({{{name!r}: {value!r}}})")

    def __repr__(self) -> str:
        """YAML, as in a file."""
        return self.as_text()

    @property
    def paths(self) -> Paths:
        """Where data and runs are."""
        return Paths(self)

    @property
    def names(self) -> list[str]:
        """The names of all groups and options."""
        return [str(name) for name in self.composed]

    def has(self, key: str) -> bool:
        """Tell whether a group or an option is there; null is there."""
        return key in self.composed

    def read(self, key: str, *, otherwise: object = None) -> Any:
        """Return a group as a plain dictionary, or the value of an option; `otherwise` where there is none."""
        if key not in self.composed or OmegaConf.is_missing(self.composed, key):
            return otherwise
        value = self.composed[key]
        if OmegaConf.is_config(value):
            return OmegaConf.to_container(value, resolve=True)
        return value

    def plain(self, group: str) -> dict[str, Any]:
        """Return a group as a plain dictionary; what its values refer to is put in their place."""
        return _plain(self.composed[group])

    def all_plain(self) -> dict[str, Any]:
        """Return all of it as a plain dictionary."""
        return _plain(self.composed)

    def value(self, key: str) -> Any:
        """Return the value of a dotted key; None where there is none."""
        value = OmegaConf.select(self.composed, key)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value

    def changed(self: Made, values: Mapping[str, object]) -> Made:
        """Make a configuration with other values of dotted keys; options that refer to them follow."""
        composed = self.composed.copy()
        for key, value in values.items():
            OmegaConf.update(composed, key, value, force_add=True)
        return type(self)(composed)

    def with_group(self: Made, group: str, values: Mapping[str, Any]) -> Made:
        """Make a configuration with another group in the place of one."""
        composed = self.composed.copy()
        composed[group] = dict(values)
        return type(self)(composed)

    def at(self: Made, folder: Path) -> Made:
        """Make a configuration of the run in a folder, whose paths are plain words, not looked up at each use."""
        made = self.changed({"paths.run": str(folder)})
        OmegaConf.resolve(made.composed.paths)
        return made

    def resolved(self: Made) -> Made:
        """Make a configuration in which no option refers to another one."""
        return type(self)(OmegaConf.create(self.all_plain()))

    def to_yaml(self) -> str:
        """Write the configuration as YAML; what its values refer to is put in their place."""
        return OmegaConf.to_yaml(self.composed, resolve=True)

    def as_text(self) -> str:
        """Write the configuration for another process, with what its values refer to."""
        return OmegaConf.to_yaml(self.composed)

    @classmethod
    def from_text(cls: type[Made], text: str) -> Made:
        """Read what `as_text` has written."""
        composed = OmegaConf.create(text)
        assert isinstance(composed, DictConfig)
        return cls(composed)

    @classmethod
    def view(cls: type[Made], config: Config) -> Made:
        """See a configuration with the fields that are declared here, such as a command's own options."""
        return cls(config.composed)


class RunConfig(Config):
    """Every setting of a run. Groups that a command does not have, such as `recipe` of `lra prepare`, are None."""

    task: Task = part()
    attention: Section = part()
    mixer: Section = part()
    model: Section = part()
    protocol: Protocol = part()
    recipe: Recipe = part()
    pretrain: Pretrain = part()
    size: Size = part()
    trainer: Trainer = part()
    logger: Section = part()
    callbacks: Callbacks = part()
    debug: Debug = part()
    seed: Seed = part()
    run_group: str = part()
    source: str = part()
    compile: Compile = part(False)
    check: bool = part(False)
    verify: bool = part(True)
    force: bool = part(False)
    predictions: CountOrZero = part(0)
    tuned: Section | None = part()
    finished: MayLack[Literal["refuse", "show"]] = part()

    @property
    def method_name(self) -> str:
        """The name of the method that a table row is called after: the attention, another mixer, or a whole model.

        A model of the user's own, in place of the shared encoder, has the `name` in its file or that of its class.
        """
        return own_model(self.model) or str(self.mixer_settings["name"])

    @property
    def mixes_by_attention(self) -> bool:
        """Whether the mixer is self-attention; the stored configuration of an older run has no `mixer`."""
        return not self.has("mixer") or self.mixer.name == ATTENTION

    @property
    def mixer_group(self) -> str:
        """The config group with the mixer's options: `attention`, or `mixer`."""
        return ATTENTION if self.mixes_by_attention else "mixer"

    @property
    def mixer_settings(self) -> dict[str, Any]:
        """Name and options of the attention, or of the mixer in its place; interpolations are resolved."""
        return self.plain(self.mixer_group)

    @property
    def identity(self) -> Identity:
        """The words that name a run: those of its record, of its folder and of its row in a table."""
        return {
            "task": self.task.name,
            "attention": self.method_name,
            "protocol": self.protocol.name,
            "size": self.size.name,
            "seed": self.seed,
            "run_group": str(self.run_group),
        }

    @property
    def batch_parts(self) -> int:
        """The number of parts of a batch with which a run begins.

        With `auto` it is 1, in the run's hash too. Such a run takes more parts when the batch does not fit into memory;
        its record has their number among its costs, because the same examples make the same step up to rounding.
        """
        parts = self.trainer.accumulate_grad_batches
        return 1 if parts == AUTO else parts

    @property
    def num_processes(self) -> int:
        """The number of processes that train one model together: one for each device of each node."""
        return self.trainer.devices * self.trainer.num_nodes

    def on_one_device(self) -> RunConfig:
        """Make the configuration with one process in place of several."""
        nodes = {"trainer.num_nodes": 1} if self.trainer.num_nodes > 1 else {}
        return self.changed({"trainer.devices": 1, **nodes})

    @property
    def is_pretrained(self) -> bool:
        """Whether a stage of self-pretraining comes first; the stored configuration of an older run does not say."""
        return self.value("pretrain.name") not in (None, "none")

    @property
    def taken_from(self) -> str | None:
        """The hash of the settings of the earlier run whose pretraining is taken; None if the run trains its own."""
        return self.pretrain.from_ if self.is_pretrained else None

    @property
    def logs_to_wandb(self) -> bool:
        """Whether a W&B run is written: not with `logger=csv`, nor with `logger.wandb.mode=disabled`."""
        chosen = self.value("logger.wandb")  # `~logger.wandb` takes it away
        return chosen is not None and chosen["mode"] != "disabled"
