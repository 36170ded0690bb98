"""Settings of a run in its record: flattened, so that two runs can be compared, and hashed.

Records and stored configurations may lack settings of our classes that came later, and have removed ones. At the value
that acts as earlier versions did, a later setting is neither recorded nor in a run's hash: an earlier run and the same
run today are one. A removed setting was one of these before.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from itertools import accumulate
from typing import Any

from lra.types import UserError

PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
NOT_RECORDED = "not recorded"  # cannot be mistaken for a value: `value_text` puts text with a space in quotes
FlatSettings = dict[str, str]  # dotted key → value as text; different values have different texts


def hash_of(settings: Mapping[str, object]) -> str:
    """Hash settings to eight hex digits; equal settings have equal hashes."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


def flatten(settings: Mapping[str, object], prefix: str = "") -> FlatSettings:
    """Flatten nested settings to a mapping from dotted keys to values as text.

    A setting that repeats another setting of the same name refers to it instead: `attention.pinv_start` is given as
    `=protocol.pinv_start`. So a change of both is shown as one difference.
    """
    leaves = {key: value_text(value) for key, value in _leaves(settings, prefix)}
    return {key: _echo(key, leaves) or word for key, word in leaves.items()}


def flat_keys(settings: Mapping[str, object]) -> set[str]:
    """The dotted keys of nested settings."""
    return {key for key, _ in _leaves(settings, "")}


def value_text(value: object) -> str:
    """Write a value as a user types it; text that looks like another type is put in quotes, as in JSON."""
    return value if isinstance(value, str) and _is_plain(value) else json.dumps(value)


@functools.lru_cache(100_000)
def _is_plain(text: str) -> bool:
    if not PLAIN.fullmatch(text):
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def branches(absent: Sequence[str], present: Iterable[str]) -> list[str]:
    """Shorten absent keys to whole branches: `model` in place of `model.width`, `model.dropout` and so on."""
    if not absent:
        return []
    known = {branch for key in present for branch in _branches_of(key)}
    return sorted({next((branch for branch in _branches_of(key) if branch not in known), key) for key in absent})


def _branches_of(key: str) -> Iterable[str]:
    """Cut a dotted key after each part: `a`, `a.b`, `a.b.c`."""
    return accumulate(key.split("."), "{}.{}".format)


def _leaves(settings: Mapping[str, object], prefix: str) -> Iterable[tuple[str, object]]:
    for name, value in settings.items():
        key = name if name.isidentifier() else json.dumps(name)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _echo(key: str, leaves: FlatSettings) -> str | None:
    """Return a reference such as `=protocol.pinv_start` if a leaf repeats another setting, else None."""
    *path, name = key.split(".")
    owners = [".".join([*path[:depth], name]) for depth in range(1, len(path))]
    if path and path[0] != "protocol":
        owners.insert(0, f"protocol.{name}")
    for owner in owners:
        if owner in leaves and name != "name" and leaves[owner] == leaves[key]:
            return f"={owner}"
    return None


# Keys: a class that a group names in `_target_`, a config group, or a choice of a config group.
VALUE_BEFORE: dict[str, dict[str, Any]] = {
    "lra.attention.nystrom.NystromAttention": {
        "landmark_rule": "segment_means",
        "landmark_source": "both",
        "kmeans_steps": 3,
        "coarse_landmarks": 0,
        "pinv_ridge": 1e-3,
        "masking": "all",
        "exact_when_short": True,
        "value_skip_form": "convolution",
    },
    "lra.model.classifier.SequenceClassifier": {
        "packed": "auto",
        "attention_dtype": "float32",
        "head": "hidden",
        "norm": "layer",
        "norm_place": "before",
        "inputs": "tokens",
        "positions": "learned",
        "vocab_size": None,
        "token_std": 0.02,
        "embedding_dropout": True,
        "tied_dropout": False,
    },
    "lra.mixers.s4d.S4D": {
        "copies": None,
        "step_form": "exp",
        "backward": "with_present",
        "inner_dropout": False,
    },
    "protocol": {
        "listops_brackets": "kept",
        "pixels": "tokens",
        "text_symbols": "bytes",
        "end_token": False,
        "padding": "task",
    },
    "task=listops": {"listops_brackets": "kept", "vocabulary": 18},
    "task=text": {"vocabulary": 134, "least_count": 15},
    "task=retrieval": {"vocabulary": 98, "least_count": 1},
    "task=image": {"pixel_mean": 0.4807843137254902, "pixel_std": 0.23921568627450981},
    "task=pathfinder": {"pixel_mean": 0.0, "pixel_std": 1.0},
    "task=pathx": {"pixel_mean": 0.0, "pixel_std": 1.0},
}
# The value that acts as the class does without the setting.
REMOVED: dict[str, dict[str, Any]] = {
    "lra.attention.nystrom.NystromAttention": {"causal": False}  # docs/questions.md says why
}


def values_before(settings: Mapping[Any, Any], group: str = "") -> dict[str, Any]:
    """Return the later settings of a config group, which has a `name` or `_target_`, with their earlier values.

    Without the group's name only those of the class are returned.
    """
    keys = (str(settings.get("_target_")), group, f"{group}={settings.get('name')}")
    return {name: value for key in keys for name, value in VALUE_BEFORE.get(key, {}).items()}


def removed_settings(group: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the removed settings of the class that a group names, with the values that act as the class does today."""
    return REMOVED.get(str(group.get("_target_")), {})


def drop_removed_settings(name: str, group: MutableMapping[Any, Any]) -> None:
    """Take the removed settings out of a stored group, in place.

    Raises:
        UserError: for a value that acts otherwise than the class does today; with the setting and the value.
    """
    for key, todays in removed_settings(group).items():
        value = group.pop(key, todays)
        if value != todays:
            line = f"{name}.{key}={json.dumps(value)} is an option that was removed from lra"
            raise UserError(line, kind="removed_option", key=f"{name}.{key}", value=value)


def without_values_before(settings: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Leave out the later settings that have their earlier value."""
    later = values_before(settings, group)
    return {key: value for key, value in settings.items() if key not in later or value != later[key]}
