"""Read a run's config.yaml safely: the file may come from anywhere, so it must not choose the code that is called."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lra.base.arguments import WrongValueError
from lra.base.files import checked_name, read_file
from lra.base.paths import conf_dirs
from lra.runs.files import BEST, CONFIG
from lra.runs.flatten_settings import drop_removed_settings, values_before
from lra.runs.record import read_record
from lra.runs.schema import TARGET
from lra.settings.added_keys import USER_GROUPS
from lra.settings.check import UnknownArgumentError, check_stored, declared_in_group, needed_by_class
from lra.settings.config import mixes_by_attention
from lra.types import UserError

MOST_CONFIG_BYTES = 2**20  # the usual size is 3 kB
MOST_BRACKETS = 2000
GROUPS = ("task", "task.spec", "attention", "protocol", "model", "size", "trainer")
NODES = (*GROUPS, "recipe", "recipe.optimizer", "recipe.schedule")
CLASSES = ("task.spec", "attention", "model", "recipe.optimizer", "recipe.schedule")  # and a mixer but attention
NEEDED = {"": ("seed",), "task": ("name", "spec", "mask_zero", "dev_split"), "mixer": ()}  # of others all
# Options that older runs do not have; a run without them is built as before.
MISSING_IN_OLDER = (
    "recipe.parameter_groups",
    "trainer.fused_optimizer",
    "trainer.data_on_device",
    "trainer.dev_batch_size",
)
RETRAIN = "bring the run's own file back, or train again: lra train."
NOT_BUILT = ("codec", "open_source")  # keys of a task that are taken from today's conf tree instead
TORCHS = re.compile(r"torch\.optim\.(lr_scheduler\.)?[A-Z]\w*")  # an optimizer or schedule that the user has typed
NAMED = ("task", "attention", "protocol", "size", "mixer")  # groups whose names are those of folders and rows


def read_trained_config(folder: Path, paths: DictConfig) -> DictConfig:
    """Read the configuration of a trained run, and set its `paths`: data and runs may have moved since training.

    Raises:
        UserError: when the folder is not that of a trained run; as `read_stored_config` does.
    """
    for file in (CONFIG, BEST):
        if not (folder / file).is_file():
            raise UserError(
                f"{folder} has no {file}, so it is not the folder of a trained run; lra train makes one",
                kind="missing_file",
                key=file,
                value=folder,
            )
    cfg = read_stored_config(folder)
    cfg.paths = paths
    return cfg


def read_stored_config(folder: Path) -> DictConfig:
    """Read and check the configuration that a run was trained with.

    It may have no interpolations, and only those `_target_` that today's conf tree names. So building a model from it
    imports and calls nothing else.

    Raises:
        UserError: for an unreadable or unsafe file, and for settings that do not fit this version; with the file, the
            key and the value.
    """
    path = folder / CONFIG
    cfg = _read(path)
    for group in USER_GROUPS:  # not needed to build the model and its data
        cfg.pop(group, None)
    if isinstance(cfg.get("task"), DictConfig):
        for key in NOT_BUILT:
            cfg.task.pop(key, None)
    allowed = known_targets(tuple(conf_dirs()))
    for key, value in _leaves(OmegaConf.to_container(cfg)):
        if isinstance(value, str) and "${" in value:
            raise UserError(f"{path}: {key}={value} is an interpolation, which no finished run has; {RETRAIN}")
        if key.split(".")[-1] == TARGET and value not in allowed and not TORCHS.fullmatch(str(value)):
            raise UserError(
                f"{path}: {key}={value} is not named in this conf tree, so it is not called; {RETRAIN}"
                " Is it code of yours? lra evaluate --config-dir FOLDER with a YAML file that names it",
                kind="unnamed_class",
                key=key,
                value=value,
            )
    try:
        _check_shape(cfg)
        _drop_removed(cfg, folder)
        _add_later(cfg)
        _check_complete(cfg, folder)
        check_stored(cfg)
    except UnknownArgumentError as error:
        raise error.reworded(f"{path}: {error}; {in_that_version(folder)}") from error
    except WrongValueError as error:
        raise error.reworded(f"{path}: {error}; {RETRAIN}") from error
    except UserError as error:
        raise error.reworded(f"{path}: {error}") from error
    return cfg


def _drop_removed(cfg: DictConfig, folder: Path) -> None:
    """Take out settings that this version has no more, where a run without them is the same."""
    for name, group in cfg.items():
        if isinstance(group, DictConfig):
            try:
                drop_removed_settings(str(name), group)
            except UserError as error:
                raise error.reworded(f"{error}; {in_that_version(folder)}") from error


def _add_later(cfg: DictConfig) -> None:
    """Add settings that an earlier version's run lacks, with the value that acts as that version did."""
    for group, settings in cfg.items():
        if isinstance(settings, DictConfig):
            for name, value in values_before(settings, str(group)).items():
                settings.setdefault(name, value)


def _check_complete(cfg: DictConfig, folder: Path) -> None:
    """Refuse a configuration without an option that is needed: another version may have behaved otherwise.

    Raises:
        UserError: with the option, and which version trained the run.
    """
    for group in (*NODES, *(["mixer"] if "mixer" in cfg else []), ""):
        node = OmegaConf.select(cfg, group) if group else cfg
        is_class = group in CLASSES or (group == "mixer" and not mixes_by_attention(cfg))
        is_made_later = group != "task.spec"  # from arguments of ours
        if is_class and (not isinstance(node.get(TARGET), str) or node.get("_partial_", False) is not is_made_later):
            line = f"{group} has no class: _target_ or _partial_ is missing or wrong; {RETRAIN}"
            raise UserError(line, kind="missing_option", key=f"{group}.{TARGET}")
        names = needed_by_class(node[TARGET]) if is_class else NEEDED.get(group, declared_in_group(group))
        for key in (f"{group}.{name}".lstrip(".") for name in names if name not in node):
            if key not in MISSING_IN_OLDER:
                line = f"{key} is missing, so another version of lra has trained this run; {in_that_version(folder)}"
                raise UserError(line, kind="missing_option", key=key)


@cache
def known_targets(folders: tuple[Path, ...]) -> frozenset[str]:
    """Collect every `_target_` for a model, its data or its training in the YAML files below the folders."""
    files = [
        path for folder in folders for path in sorted(folder.rglob("*.yaml")) if path.parent.name not in USER_GROUPS
    ]
    trees = [yaml.safe_load(path.read_text("utf-8")) for path in files]
    return frozenset(
        value
        for tree in trees
        for key, value in _leaves(tree)
        if key.split(".")[-1] == TARGET and isinstance(value, str) and not set(NOT_BUILT) & set(key.split("."))
    )


def _read(path: Path) -> DictConfig:
    """Read the file without resolving interpolations; refuse aliases, which can be endless, and unsafe YAML tags."""
    if path.stat().st_size > MOST_CONFIG_BYTES:
        raise UserError(f"{path} has {path.stat().st_size:,} bytes, which no run's configuration has; {RETRAIN}")
    try:
        text = read_file(path).decode()
        if text.count("[") + text.count("{") > MOST_BRACKETS:  # nested, they would take the parser minutes
            raise UserError(
                f"{path} has more than {MOST_BRACKETS} brackets, which no run's configuration has; {RETRAIN}"
            )
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise UserError(f"{path} has an alias (*), which no run's configuration has; {RETRAIN}")
        cfg = OmegaConf.create(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, OmegaConfBaseException) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path} cannot be read as YAML: {reason}; {RETRAIN}") from error
    if not isinstance(cfg, DictConfig):
        raise UserError(f"{path} holds no options; {RETRAIN}")
    return cfg


def _leaves(node: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf as dotted key and value; a `_target_` is always yielded, even when its value is a branch."""
    if key.split(".")[-1] == TARGET or not isinstance(node, dict | list):
        yield key, node if isinstance(node, str | None) else str(node)
        return
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield from _leaves(value, f"{key}.{name}" if key else str(name))


def _check_shape(cfg: DictConfig) -> None:
    """Refuse a configuration that lacks a group of settings which a model and its data are built from."""
    for key in (*NODES, *(["mixer"] if "mixer" in cfg else [])):
        if not isinstance(OmegaConf.select(cfg, key), DictConfig):
            raise UserError(f"{key} is not a group of options; {RETRAIN}")
    for key in (f"{group}.name" for group in NAMED if group in cfg):
        name = OmegaConf.select(cfg, key)
        if not isinstance(name, str):
            raise UserError(f"{key}={name} is not a word; {RETRAIN}")
        checked_name(name, f"{key}=", example="mine")


def in_that_version(folder: Path) -> str:
    """Word the advice for a run of another version."""
    try:
        record = read_record(folder)
    except UserError:
        record = None
    commit = re.match("[0-9a-f]{7,40}", str(record["provenance"].get("git_commit")) if record else "")
    which = f"git checkout {commit.group()}" if commit else "its record, or who trained it, knows which"
    return f"evaluate it with that version ({which}), or train again: lra train"
