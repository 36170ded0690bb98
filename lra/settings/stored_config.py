"""Read a run's config.yaml safely: the file may come from anywhere, so it must not choose the code that is called."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lra.base.files import checked_name, read_file
from lra.base.paths import conf_dirs
from lra.runs.files import BEST, CONFIG
from lra.runs.record import read_record
from lra.runs.schema import TARGET
from lra.runs.settings_hash import drop_removed_settings, values_before
from lra.settings.added_keys import OWN_ARGUMENTS, USER_GROUPS
from lra.settings.check import check_config
from lra.settings.declared import declared_in_group, needed_by_class
from lra.settings.run_config import Config, RunConfig
from lra.types import UserError

MOST_CONFIG_BYTES = 2**20  # the usual size is 3 kB
MOST_BRACKETS = 2000
GROUPS = ("task", "task.spec", "attention", "protocol", "model", "size", "trainer")
NODES = (*GROUPS, "recipe", "recipe.optimizer", "recipe.schedule")
CLASSES = ("task.spec", "attention", "model", "recipe.optimizer", "recipe.schedule")  # and a mixer but attention
NEEDED = {  # of others all
    "": ("seed",),
    "task": ("name", "spec", "mask_zero", "dev_split"),
    "mixer": (),
    "trainer": OWN_ARGUMENTS,
}
# Options that older runs do not have; a run without them is built as before.
MISSING_IN_OLDER: tuple[str, ...] = ()  # none since 0.1.0; in VALUE_BEFORE are those that are hashed
RETRAIN = "bring the run's own file back, or train again: lra train"
NOT_BUILT = ("codec", "open_source")  # keys of a task that are taken from today's conf tree instead
TORCHS = re.compile(r"torch\.optim\.(lr_scheduler\.)?[A-Z]\w*")  # an optimizer or schedule that the user has typed
NAMED = ("task", "attention", "protocol", "size", "mixer")  # groups whose names are those of folders and rows


def read_trained_config(folder: Path, places: Config) -> RunConfig:
    """Read the configuration of a trained run, with the `paths` of another: data and runs may have moved since.

    Raises:
        UserError: when the folder is not that of a trained run; as `read_stored_config` does.
    """
    for file in (CONFIG, BEST):
        if not (folder / file).is_file():
            line = f"{folder} has no {file}, so it is not the folder of a trained run; lra train makes one"
            raise UserError(line, kind="missing_file", key=file, value=folder)
    composed = read_stored_config(folder).composed
    composed.paths = places.composed.paths
    return RunConfig(composed)


def read_stored_config(folder: Path) -> RunConfig:
    """Read and check the configuration that a run was trained with.

    It may have no interpolations, and only those `_target_` that today's conf tree names. So building a model from it
    imports and calls nothing else.

    Raises:
        UserError: for an unreadable or unsafe file, and for settings that do not fit this version; with the file, the
            key and the value.
    """
    path = folder / CONFIG
    try:
        cfg = _read(path)
        for group in USER_GROUPS:  # not needed to build the model and its data
            cfg.pop(group, None)
        if isinstance(cfg.get("task"), DictConfig):
            for key in NOT_BUILT:
                cfg.task.pop(key, None)
        _check_calls(cfg)
        nodes = (*NODES, *(["mixer"] if "mixer" in cfg else []))
        _check_shape(cfg, nodes)
        for name, settings in cfg.items():
            if isinstance(settings, DictConfig):
                drop_removed_settings(str(name), settings)
                for later, value in values_before(settings, str(name)).items():
                    settings.setdefault(later, value)
        _check_complete(cfg, nodes)
        check_config(RunConfig(cfg), None)
    except UserError as error:
        of_other_version = error.kind in ("missing_option", "unknown_option", "removed_option")
        advice = _in_that_version(folder) if of_other_version else RETRAIN
        raise error.reworded(f"{path}: {error}; {advice}") from error
    return RunConfig(cfg)


def _read(path: Path) -> DictConfig:
    """Read the file without resolving interpolations; refuse aliases, which can be endless, and unsafe YAML tags."""
    if path.stat().st_size > MOST_CONFIG_BYTES:
        raise UserError(f"{path.stat().st_size:,} bytes, which no run's configuration has")
    try:
        text = read_file(path).decode()
        if text.count("[") + text.count("{") > MOST_BRACKETS:  # nested, they would take the parser minutes
            raise UserError(f"more than {MOST_BRACKETS} brackets, which no run's configuration has")
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise UserError("an alias (*), which no run's configuration has")
        cfg = OmegaConf.create(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, OmegaConfBaseException) as error:
        raise UserError(f"cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(cfg, DictConfig):
        raise UserError("no options")
    return cfg


def _check_calls(cfg: DictConfig) -> None:
    """Refuse what would call code that this conf tree does not name."""
    allowed = known_targets(tuple(conf_dirs()))
    for key, value in _leaves(OmegaConf.to_container(cfg)):
        if isinstance(value, str) and "${" in value:
            raise UserError(f"{key}={value} is an interpolation, which no finished run has")
        if key.split(".")[-1] == TARGET and value not in allowed and not TORCHS.fullmatch(str(value)):
            own = "is it code of yours? lra evaluate --config-dir FOLDER with a YAML file that names it"
            line = f"{key}={value} is not named in this conf tree, so it is not called; {own}"
            raise UserError(line, kind="unnamed_class", key=key, value=value)


@cache
def known_targets(folders: tuple[Path, ...]) -> frozenset[str]:
    """Collect every `_target_` for a model, its data or its training in the YAML files below the folders."""
    files = (path for folder in folders for path in folder.rglob("*.yaml") if path.parent.name not in USER_GROUPS)
    return frozenset(
        value
        for path in files
        for key, value in _leaves(yaml.safe_load(path.read_text("utf-8")))
        if key.split(".")[-1] == TARGET and isinstance(value, str) and not {*NOT_BUILT} & {*key.split(".")}
    )


def _leaves(node: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf as dotted key and value; a `_target_` is always yielded, even when its value is a branch."""
    if key.split(".")[-1] == TARGET or not isinstance(node, dict | list):
        yield key, node if isinstance(node, str | None) else str(node)
        return
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield from _leaves(value, f"{key}.{name}" if key else str(name))


def _check_shape(cfg: DictConfig, nodes: Iterable[str]) -> None:
    """Refuse a configuration that lacks a group of settings which a model and its data are built from."""
    for key in nodes:
        if not isinstance(OmegaConf.select(cfg, key), DictConfig):
            raise UserError(f"{key} is not a group of options")
    for key in (f"{group}.name" for group in NAMED if group in cfg):
        name = OmegaConf.select(cfg, key)
        if not isinstance(name, str):
            raise UserError(f"{key}={name} is not a word")
        checked_name(name, f"{key}=", example="mine")


def _check_complete(cfg: DictConfig, nodes: Iterable[str]) -> None:
    """Refuse a configuration without an option that is needed: another version may have behaved otherwise."""
    for group in (*nodes, ""):
        node = OmegaConf.select(cfg, group) if group else cfg
        is_class = group in CLASSES or (group == "mixer" and not RunConfig(cfg).mixes_by_attention)
        is_made_later = group != "task.spec"  # from arguments of ours
        if is_class and (not isinstance(node.get(TARGET), str) or node.get("_partial_", False) is not is_made_later):
            line = f"{group} has no class: _target_ or _partial_ is missing or wrong"
            raise UserError(line, kind="missing_option", key=f"{group}.{TARGET}")
        names = needed_by_class(node[TARGET]) if is_class else NEEDED.get(group, declared_in_group(group))
        for key in (f"{group}.{name}".lstrip(".") for name in names if name not in node):
            if key not in MISSING_IN_OLDER:
                line = f"{key} is missing, so another version of lra has trained this run"
                raise UserError(line, kind="missing_option", key=key)


def _in_that_version(folder: Path) -> str:
    """Word the advice for a run of another version."""
    which = "its record, or who trained it, knows which"
    with suppress(UserError):
        record = read_record(folder)
        commit = re.match("[0-9a-f]{7,40}", str(record.provenance.get("git_commit")) if record else "")
        which = f"git checkout {commit.group()}" if commit else which
    return f"evaluate it with that version ({which}), or train again: lra train"
