"""The folder of a run, and that of a task's store."""

from pathlib import Path
from typing import Literal

from lra.base.files import checked_name
from lra.base.probes import probe_named
from lra.base.settings_hash import hash_of
from lra.data.prepare_again import STORES
from lra.runs.files import run_folder
from lra.settings.hashed_settings import config_hash
from lra.settings.method import identity
from lra.settings.run_config import RunConfig

IN_PATHS: tuple[Literal["attention", "task", "protocol", "size"], ...] = ("attention", "task", "protocol", "size")


def store_dir(cfg: RunConfig) -> Path:
    """Folder of the task's prepared store.

    A probe has a store for each of its `data` settings, so that runs with several numbers of pairs, for example, do not
    stand in each other's way.
    """
    drawn = f"-{hash_of(cfg.task.data)}" if probe_named(cfg.task.name) else ""
    return Path(cfg.paths.data, STORES, cfg.task.name, f"{cfg.size.name}{drawn}")


def run_dir(cfg: RunConfig) -> Path:
    """Return the run's folder, which depends on the settings alone: the same command finds the run that it began."""
    names = identity(cfg)
    checked_name(cfg.run_group, "run_group=", example="mine", nested=True)
    for group in IN_PATHS:
        checked_name(names[group], f"{group}.name=", example="mine")
    return run_folder(cfg.paths.runs, names, steps=cfg.recipe.steps, config_hash=config_hash(cfg))
