"""Compose configurations with Hydra."""

import functools
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override as Parsed
from hydra.core.override_parser.types import OverrideType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from lra.base.paths import (
    DESCRIPTION,
    conf_dir,
    conf_dirs,
    conf_groups,
    data_dir,
    runs_dir,
    users_conf_files,
)
from lra.settings.override_values import parse
from lra.settings.private_hydra import set_values
from lra.settings.protocol_files import model_name, options_name, recipe_name, short_options_name
from lra.settings.run_config import RunConfig
from lra.settings.which_run import run_dir


def wandb_mode(mode: str) -> str:
    """Translate the value of WANDB_MODE; WANDB_DISABLED=true, which W&B's integrations know, comes before it."""
    if os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes", "on"):
        return "disabled"
    return {"": "offline", "dryrun": "offline", "run": "online"}.get(mode, mode)


CONF = conf_dir()
RESOLVERS: dict[str, Callable[..., str]] = {  # what `${lra.NAME:…}` of a configuration file calls
    "data_dir": lambda: str(data_dir()),
    "runs_dir": lambda: str(runs_dir()),
    "run_dir": lambda *, _root_: str(run_dir(RunConfig(_root_))),
    "recipe": recipe_name,
    "model": model_name,
    "options": options_name,
    "short_options": short_options_name,
    "wandb_mode": wandb_mode,
}
for _name, _function in RESOLVERS.items():
    OmegaConf.register_new_resolver(f"lra.{_name}", _function, replace=True)

COMPOSING_ERRORS = (HydraException, OmegaConfBaseException)
OF_PROTOCOL = "${protocol."  # in a value that a protocol decides
OF_A_SEARCH = ("search", "budget")  # keys beside what a sweep's file varies


class OwnFolders(SearchPathPlugin):
    """Hydra plugin that adds the user's conf folders to the search path, after the project's own."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the user's conf folders."""
        for folder in conf_dirs()[1:]:
            search_path.append("lra", f"file://{folder}")


def look_through_own_folders() -> None:
    """Register the plugin; a job of a Hydra launcher must do so again, because it starts without our plugin."""
    Plugins.instance().register(OwnFolders)


look_through_own_folders()


def load_config(name: str, overrides: Sequence[str] = ()) -> RunConfig:
    """Compose the configuration of `lra NAME OVERRIDES`, with its types; see `compose_config`."""
    return RunConfig(compose_config(name, overrides))


def compose_config(name: str, overrides: Sequence[str] = (), *, with_hydra: bool = False) -> DictConfig:
    """Compose the configuration that `lra NAME OVERRIDES` would use, with the `hydra` node if `with_hydra`.

    Only the overrides that choose files need Hydra to compose; the values are then set in a copy, as Hydra sets them.
    So one command composes once for the check of its overrides, for its own settings and for its cells.
    """
    parsed = list(map(parse, overrides))
    if not with_hydra:
        parsed = [each for each in parsed if each.is_sweep_override() or not each.is_hydra_override()]
    groups, files = conf_groups(), users_conf_files()
    values = [each for each in parsed if not _needs_composing(each, groups)]
    cfg = _compose(name, _in_one_order(each for each in parsed if each not in values), with_hydra, files)
    cfg = cfg.copy()
    set_values(cfg, values)
    if with_hydra:
        cfg.hydra.overrides.task.extend([each.input_line for each in values])
    return cfg


def default_choice(group: str) -> str:
    """The choice of a config group in the defaults list of `lra train`."""
    defaults = OmegaConf.load(CONF / "train.yaml").defaults
    return next(str(entry[group]) for entry in defaults if group in entry)


def _needs_composing(parsed: Parsed, groups: Collection[str]) -> bool:
    """Tell whether an override may choose a file; sweeps too, which Hydra refuses."""
    return (
        parsed.is_sweep_override()
        or parsed.is_hydra_override()
        or parsed.package is not None
        or (parsed.key_or_group in groups and not isinstance(parsed.value(), dict))
    )


def _in_one_order(parsed: Iterable[Parsed]) -> tuple[str, ...]:
    """Sort the choices of groups by key, so that the same choices are composed once; additions keep their order."""
    ordered = sorted(parsed, key=lambda each: each.key_or_group if each.type is OverrideType.CHANGE else "~")
    return tuple(str(each.input_line) for each in ordered)


@functools.cache
def _compose(
    name: str, overrides: tuple[str, ...], with_hydra: bool, files: tuple[tuple[Path, int], ...]
) -> DictConfig:
    """Compose a configuration, once for the same choices of groups: composing takes 0.2 s or more, a copy 5 ms.

    `files` is read by the cache alone: after a change of a user's file it is another call.
    """
    if not with_hydra:
        plain = None if overrides else without_defaults(CONF / f"{name}.yaml")
        if plain is not None:
            OmegaConf.set_struct(plain, True)
            return plain
        cfg = _compose(name, overrides, True, files).copy()
        with open_dict(cfg):
            del cfg["hydra"]
        return cfg
    return _composed_by_hydra(name, overrides)


def without_defaults(path: Path) -> DictConfig | None:
    """Read a configuration file that has no defaults list, so that there is nothing to compose; None if it has one."""
    content = OmegaConf.load(path)
    return content if isinstance(content, DictConfig) and "defaults" not in content else None


def _composed_by_hydra(name: str, overrides: tuple[str, ...]) -> DictConfig:
    """Let Hydra compose.

    Hydra keeps one global state. Inside a running command, that state is saved before and restored after.
    """
    look_through_own_folders()
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONF), job_name="cli", version_base="1.3"):
            return without_descriptions(compose(name, list(overrides), return_hydra_config=True))
    finally:
        GlobalHydra.instance().hydra = running


def with_attention(cfg: RunConfig, name: str) -> RunConfig:
    """Copy a configuration, with another attention, which has the options of lra's own file."""
    other = cfg.composed.copy()
    other.attention = OmegaConf.load(CONF / "attention" / f"{name}.yaml")
    other.mixer = OmegaConf.load(CONF / "mixer" / "attention.yaml")
    return RunConfig(without_descriptions(other))


def task_config(file: Mapping[str, Any], size: str, data: Path) -> RunConfig:
    """Make the part of a configuration that a task's file decides, at a size, with data below a folder."""
    task = {key: value for key, value in file.items() if OF_PROTOCOL not in str(value)}
    return RunConfig(OmegaConf.create({"task": task, "size": {"name": size}, "paths": {"data": str(data)}}))


def without_descriptions(cfg: DictConfig) -> DictConfig:
    """Take what describes an attention, a mixer or a task out of a configuration, in place; return it."""
    with open_dict(cfg):
        for group, keys in DESCRIPTION.items():
            for key in keys:
                if cfg.get(group) is not None:
                    cfg[group].pop(key, None)
    return cfg


def sweep_params(sweep: str) -> dict[str, str]:
    """What `conf/sweep/NAME.yaml` varies: each key with its values, as they would be typed."""
    return {key: values for key, values in _sweep_file(sweep).items() if key not in OF_A_SEARCH}


def search_of_sweep(sweep: str) -> dict[str, str]:
    """The search that `conf/sweep/NAME.yaml` brings: the name of its file (`search`), and its `budget`; or nothing."""
    return {key: value for key, value in _sweep_file(sweep).items() if key in OF_A_SEARCH}


def _sweep_file(sweep: str) -> dict[str, str]:
    path = next(path for folder in conf_dirs() if (path := folder / "sweep" / f"{sweep}.yaml").is_file())
    file = without_defaults(path)
    if file is None or "${" in OmegaConf.to_yaml(file):
        file = compose_config("train", [f"sweep={sweep}"], with_hydra=True)
    params = OmegaConf.select(file, "hydra.sweeper.params") or {}
    return {str(key): str(values) for key, values in params.items()}
