"""The hash of a run's settings, which names its folder, and what keeps it equal from version to version.

Settings may come later than the first records, and may be removed. Records and stored configurations may lack the
later ones, and have removed ones. At the value that acts as earlier versions did, a later setting is neither recorded
nor in a run's hash: an earlier run and the same run today are one. A removed setting was one of these before.
"""

import hashlib
import json
from collections.abc import Mapping, MutableMapping
from typing import Any

from lra.types import UserError

# Keys: a class that a group names in `_target_`, a config group, or a choice of a config group, such as `task=listops`.
VALUE_BEFORE: dict[str, dict[str, Any]] = {}  # none since 0.1.0
# Keys: a class. The value that acts as the class does without the setting.
REMOVED: dict[str, dict[str, Any]] = {}


def hash_of(settings: Mapping[str, object]) -> str:
    """Hash settings to eight hex digits; equal settings have equal hashes."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


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
