"""Configurations: composing them, which settings change a result, the hash of those, and the run's folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from lra.names import checked_name
from lra.paths import conf_dir, conf_dirs, conf_names, data_dir, runs_dir
from lra.results.reading import NAMED
from lra.results.schema import own_model
from lra.results.settings import hash_of
from lra.run_files import run_folder

# What moves a number of the result. Everything else (folders, loggers, the seed) may change within one run's settings.
SETTINGS = ("task", "protocol", "model", "recipe", "size")  # and the attention, or the mixer in its place
TRAINER_SETTINGS = ("accelerator", "precision", "accumulate_grad_batches")
LOOKS_OF_TASK = ("sizes", "codec", "open_source")  # other data is another hash of the data, in the record
ATTENTION = "attention"  # the mixer whose knobs are those of `attention=NAME`

for _name, _folder in (("data_dir", data_dir), ("runs_dir", runs_dir)):
    OmegaConf.register_new_resolver(f"lra.{_name}", lambda folder=_folder: str(folder()), replace=True)


def recipe_name(task: str, size: str) -> str:
    """The recipe that comes with a task: `conf/recipe/TASK_SIZE.yaml`, else `TASK.yaml`, else `default.yaml`."""
    there = conf_names("recipe")
    return next(name for name in (f"{task}_{size}", task, "default") if name in there)


OmegaConf.register_new_resolver("lra.recipe", recipe_name, replace=True)


class OwnFolders(SearchPathPlugin):
    """Hydra looks through the user's conf folders too, after ours, whoever composes."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append them."""
        for folder in conf_dirs():
            if folder != conf_dir():
                search_path.append("lra", f"file://{folder}")


def look_through_own_folders() -> None:
    """Tell Hydra of them; in a launcher's job it has forgotten its plugins but those that it finds by itself."""
    Plugins.instance().register(OwnFolders)


look_through_own_folders()


def load_config(name: str, overrides: Sequence[str] = (), *, with_hydra: bool = False) -> DictConfig:
    """The configuration that `lra NAME OVERRIDES` would use; with Hydra's own part if asked for."""
    return _compose(name, tuple(overrides), with_hydra, tuple(conf_dirs())).copy()


@functools.cache
def _compose(name: str, overrides: tuple[str, ...], with_hydra: bool, _folders: tuple[Path, ...]) -> DictConfig:
    """Compose once what a command asks for again and again: it takes 0.1 s, a copy 3 ms.

    Hydra composes for one program at a time: inside a running command, its state is set aside and brought back.
    """
    look_through_own_folders()
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            return compose(name, list(overrides), return_hydra_config=with_hydra)
    finally:
        GlobalHydra.instance().hydra = running


def method_name(cfg: DictConfig) -> str:
    """What mixes the sequence, which a row of a table is called after: the attention, another mixer, or a whole model.

    A model that is not the shared encoder stands for itself, under the `name` in its file or that of its class.
    """
    name: str = cfg[mixer_group(cfg)].name
    return own_model(cfg.model) or name


def mixes_by_attention(cfg: DictConfig) -> bool:
    """Whether the mixer is self-attention, so that `attention=` counts; runs of before had no other."""
    return "mixer" not in cfg or cfg.mixer.name == ATTENTION


def mixer_group(cfg: DictConfig) -> str:
    """The group that the mixer's knobs are in: `attention`, or `mixer`."""
    return ATTENTION if mixes_by_attention(cfg) else "mixer"


def mixer_settings(cfg: DictConfig) -> dict[str, Any]:
    """Name and knobs of the attention, or of the mixer that stands in its place; interpolations resolved."""
    return plain(cfg[mixer_group(cfg)])


def plain(cfg: DictConfig) -> dict[str, Any]:
    """A configuration node as plain containers, interpolations resolved."""
    container = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def settings(cfg: DictConfig) -> dict[str, Any]:
    """The settings that change a result, without the seed. The record holds them; their hash names the run's folder."""
    chosen = {mixer_group(cfg): mixer_settings(cfg)} | {group: plain(cfg[group]) for group in SETTINGS}
    for key in LOOKS_OF_TASK:
        chosen["task"].pop(key, None)
    if chosen["model"].get("packed") == "auto":  # as before there was this setting; else other roundings, other draws
        del chosen["model"]["packed"]
    trainer = {key: cfg.trainer[key] for key in TRAINER_SETTINGS}
    if cfg.trainer.devices > 1:
        trainer["devices"] = cfg.trainer.devices
    if cfg.get("compile"):  # other roundings, other draws of dropout
        trainer["compile"] = True
    return {**chosen, "trainer": trainer}


def config_hash(cfg: DictConfig) -> str:
    """Hash of the settings, eight hex digits: equal for two runs exactly if their settings are."""
    return hash_of(settings(cfg))


def store_dir(cfg: DictConfig) -> Path:
    """Folder of the task's prepared store."""
    return Path(cfg.paths.data, "stores", cfg.task.name, cfg.size.name)


def run_dir(cfg: DictConfig) -> Path:
    """The run's folder: a function of the settings, so the same command finds what it had begun."""
    return run_folder(
        Path(cfg.paths.runs),
        checked_name(cfg.run_group, "run_group=", example="mine", nested=True),
        attention=checked_name(method_name(cfg), "attention.name=", example="mine"),
        **{group: checked_name(cfg[group].name, f"{group}.name=", example="mine") for group in NAMED},
        steps=cfg.recipe.steps,
        config_hash=config_hash(cfg),
        seed=cfg.seed,
    )
