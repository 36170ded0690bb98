"""Build the cells of a sweep: all combinations of the values in `conf/sweep/NAME.yaml` and in the user's overrides."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from lra.base.paths import conf_names
from lra.runs.record import OtherVersionError, read_record
from lra.runs.schema import Record
from lra.settings import config
from lra.types import UserError

ALL = "all"  # in place of a name: every name of the group
METHOD = ("attention", "mixer", "model")  # config groups that can name a row's method


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a sweep: its overrides for `lra train`."""

    overrides: tuple[str, ...]

    @cached_property
    def cfg(self) -> DictConfig:
        """The cell's configuration, composed when it is first needed, and once for all seeds."""
        seeds = [word for word in self.overrides if word.startswith("seed=")]
        cfg = config.load_config("train", [word for word in self.overrides if word not in seeds])
        for word in seeds:
            cfg.seed = OmegaConf.from_dotlist([word]).seed
        return cfg

    @cached_property
    def folder(self) -> Path:
        """The run's folder."""
        return config.run_dir(self.cfg)

    def choice(self, key: str) -> str:
        """Return the task's name (`task`), the method's name (`attention`) or the `seed`.

        The configuration is composed only if no override names it, because composing is slow.
        """
        keys = METHOD if key == "attention" else (key,)
        values = [word.split("=", 1)[1] for word in self.overrides if word.split("=")[0].split(".name")[0] in keys]
        # `attention=all` gives cells with `mixer=attention` beside the attention's name.
        values = [word for word in values if word != config.ATTENTION] or values
        plain = len(values) == 1 and (values[0].isidentifier() or values[0].isdigit())
        if plain and values[0] != config.ATTENTION:
            return values[0]
        if key == "attention":
            return config.method_name(self.cfg)
        return str(self.cfg.seed if key == "seed" else self.cfg[key].name)

    @property
    def name(self) -> str:
        """Short name for messages, such as `listops/nystrom seed 0`."""
        return f"{self.cfg.task.name}/{config.method_name(self.cfg)} seed {self.cfg.seed}{self.varied_settings}"

    @property
    def varied_settings(self) -> str:
        """The options that the sweep varies, such as ` num_landmarks=16`."""
        varied = [word for word in self.overrides if word.startswith(("attention.", "mixer."))]
        return "".join(f" {word.split('.', 1)[1]}" for word in varied)

    @property
    def identity(self) -> tuple[str, str, str]:
        """The names of the task and of the method, and the seed."""
        return self.choice("task"), self.choice("attention"), self.choice("seed")

    def typed_as(self, record: Record) -> bool:
        """Whether a record's settings have the values that the overrides give them; others are not compared."""
        missing = object()
        for word in self.overrides:
            key, _, text = word.partition("=")
            recorded: Any = record["settings"]
            for part in key.split("."):
                recorded = recorded.get(part, missing) if isinstance(recorded, dict) else missing
            if recorded is missing or isinstance(recorded, dict):
                continue
            if recorded != OmegaConf.from_dotlist([f"value={text}"]).value:
                return False
        return True

    @property
    def finished(self) -> bool:
        """Whether the run has a record; a record of another version counts, an unreadable record does not."""
        try:
            return read_record(self.folder) is not None
        except OtherVersionError:
            return True
        except UserError:
            return False


def make_cells(sweep: str, overrides: Sequence[str]) -> list[Cell]:
    """Build the cells of `conf/sweep/SWEEP.yaml`; the user's overrides replace the file's values.

    An override with several values multiplies the cells, as in `lra train -m`; one with a single value holds for every
    cell. The first key of the file changes slowest. A file that starts with `seed` thus runs one seed of everything
    first. Mixers (`mixer=s4d,gated`) are added to the attentions that the user typed, or replace those of the file.
    """
    params = config.sweep_params(sweep)
    fixed = [f"sweep={sweep}", "hydra.mode=RUN"]
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if override.is_sweep_override() or override.key_or_group in (*params, "mixer"):
            key, values = str(override.input_line).split("=", 1)  # the key with its `+`
            params[key] = values
        else:
            fixed.append(str(override.input_line))
    if "mixer" in params and any(word.startswith(("attention=", "attention.")) for word in overrides):
        params["mixer"] = f"{config.ATTENTION},{params['mixer']}"
    axes = [_overrides_of(key, values) for key, values in params.items()]
    cells: dict[tuple[str, ...], None] = {}
    for chosen in itertools.product(*axes):
        groups_first = sorted(chosen, key=lambda word: "." in word.split("=")[0])
        cells[tuple(_without_ineffective([*fixed, *groups_first]))] = None
    return [Cell(overrides=overrides) for overrides in cells]


def spell_out_all(sweep: str, overrides: Sequence[str]) -> list[str]:
    """Replace `task=all`, `attention=all` and `mixer=all` by all names: first those of the sweep's file, in its order.

    `attention=all` is every attention and, unless mixers are typed too, every other mixer.
    """
    asked = [group for group in ("task", config.ATTENTION, "mixer") if f"{group}={ALL}" in overrides]
    others = [word for word in overrides if word not in {f"{group}={ALL}" for group in asked}]
    if config.ATTENTION in asked and not any(word.startswith("mixer=") for word in overrides):
        asked.append("mixer")
    return [*others, *(f"{group}={','.join(_all_names(sweep, group))}" for group in asked)]


def _all_names(sweep: str, group: str) -> list[str]:
    """Names of a group's choices; self-attention is no mixer among them: it stands for the attentions."""
    first = config.sweep_params(sweep).get(group, "").split(",")
    return [name for name in dict.fromkeys([*first, *conf_names(group)]) if name and name != config.ATTENTION]


def _without_ineffective(overrides: list[str]) -> list[str]:
    """Drop overrides without effect: `mixer.` ones of self-attention, `attention` ones of any other mixer.

    Otherwise a mixer would be run once for each attention.
    """
    mixer = next((word.split("=")[1] for word in overrides if word.startswith("mixer=")), config.ATTENTION)
    if mixer == config.ATTENTION:
        return [word for word in overrides if not word.startswith("mixer.")]
    return [word for word in overrides if not word.startswith(config.ATTENTION)]


def sweep_names() -> list[str]:
    """List the names of all sweeps, from the project's and the user's conf folders."""
    return conf_names("sweep")


def _overrides_of(key: str, values: str) -> list[str]:
    """Split several values into overrides: `seed` and `0,1` into `seed=0` and `seed=1`."""
    override: Override = OverridesParser.create().parse_override(f"{key}={values}")
    choices = list(override.sweep_string_iterator()) if override.is_sweep_override() else [values]
    return [f"{key}={value}" for value in choices]
