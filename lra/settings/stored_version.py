"""Compare a run's config.yaml with this version's settings: refuse missing, unknown or wrongly typed keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from lra import config
from lra.arguments import KINDS, OPEN
from lra.names import checked_name
from lra.pass_through import TARGET
from lra.paths import conf_dirs
from lra.results.reading import NAMED
from lra.results.record import read_record
from lra.results.schema import MIXERS
from lra.settings.schema import kind_of
from lra.types import UserError

PARTS = (*config.SETTINGS, *MIXERS, "trainer", "seed")  # a model and its data are built from these keys
# Settings that older runs do not have; a run without them is built as before.
MISSING_IN_OLDER = {
    *("recipe.parameter_groups", "mixer.parameter_groups", "task.longest", "mixer"),
    *("trainer.fused_optimizer", "trainer.data_on_device"),
}
NOT_BUILT_FROM = (
    *("task.sizes.", "task.data.", "task.codec", "task.open_source"),  # used for making the store
    "mixer.parameter_groups.",  # used by the optimizer
)
OPEN_CLASSES = ("recipe.optimizer", "recipe.schedule")  # a user may have added any argument of the class
RETRAIN = "bring the run's own file back, or train again: lra train."


def check_version(cfg: DictConfig, folder: Path) -> None:
    """Refuse a stored configuration whose keys differ from this version's; `check_stored` checks the values.

    No missing value is filled in, because an older version may have behaved otherwise.

    Args:
        cfg: the stored configuration, without interpolations.
        folder: the run's folder; its record may name the version that trained the run.

    Raises:
        UserError: with the key, and what to do.
    """
    stored, today = OmegaConf.to_container(cfg), _todays(cfg)
    assert isinstance(stored, dict)
    for part in PARTS:
        _compare(part, stored, today, folder, cfg)


def _todays(cfg: DictConfig) -> dict[str, Any]:
    """Compose today's configuration for the same task, protocol, size, attention and mixer."""
    words = []
    for group in (*NAMED, *(mixer for mixer in MIXERS if mixer in cfg)):
        name = cfg[group].get("name")
        if not isinstance(name, str):
            raise UserError(f"{group}.name={name} is not a word; {RETRAIN}")
        checked_name(name, f"{group}.name=", example="mine")
        if not any((place / group / f"{name}.yaml").is_file() for place in conf_dirs()):
            raise UserError(
                f"{group}.name={name} is not in this conf tree; {RETRAIN}"
                f" Is it yours? lra evaluate --config-dir FOLDER with {group}/{name}.yaml",
                kind="unknown_choice",
                key=f"{group}.name",
                value=name,
            )
        words.append(f"{group}='{name}'")
    return config.plain(config.load_config("train", words))


def _compare(
    key: str, stored: Mapping[Any, object], today: Mapping[str, object], folder: Path, cfg: DictConfig
) -> None:
    """Compare the stored and today's value of one key, and of all keys below it."""
    name = key.split(".")[-1]
    default = today[name]
    if name not in stored:
        if key in MISSING_IN_OLDER:
            return
        raise UserError(
            f"{key} is missing, so another version of lra has trained this run; {in_that_version(folder)}",
            kind="missing_option",
            key=key,
        )
    value = stored[name]
    if not isinstance(default, dict):
        if kind_of(cfg, key) is OPEN and default is not None:  # else `check_stored` checks it
            _check_kind(key, value, default)
        return
    if not isinstance(value, dict):
        raise UserError(f"{key}={value} is not a group of settings; {RETRAIN}")
    if TARGET in default:
        if TARGET not in value:
            raise UserError(f"{key}.{TARGET} is missing, so nothing can be built from {key}; {RETRAIN}")
        if value[TARGET] != default[TARGET]:  # another class, such as the user's own: its settings are not known here
            return
        for unknown in sorted(map(str, value.keys() - default.keys() if key not in OPEN_CLASSES else ())):
            raise UserError(
                f"{key}.{unknown} is not known, so another version of lra has trained this run;"
                f" {in_that_version(folder)}",
                kind="unknown_option",
                key=f"{key}.{unknown}",
            )
    for inner in _compared(key, default):
        _compare(f"{key}.{inner}", value, default, folder, cfg)


def _compared(key: str, default: Mapping[str, object]) -> Iterator[str]:
    return (name for name in default if not f"{key}.{name}".startswith(NOT_BUILT_FROM))


def _check_kind(key: str, value: object, default: object) -> None:
    kinds = (int, float) if isinstance(default, float) else (type(default),)
    if type(value) not in kinds:
        raise UserError(f"{key}={value} is not {KINDS[type(default)]}, such as {default}; {RETRAIN}")


def in_that_version(folder: Path) -> str:
    """Word the advice for a run of another version."""
    try:
        record = read_record(folder)
    except UserError:
        record = None
    commit = re.match("[0-9a-f]{7,40}", str(record["provenance"].get("git_commit")) if record else "")
    which = f"git checkout {commit.group()}" if commit else "its record, or who trained it, knows which"
    return f"evaluate it with that version ({which}), or train again: lra train"
