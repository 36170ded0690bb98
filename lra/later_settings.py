"""Settings of our classes that were added later: records and stored configurations of earlier runs do not have them.

At the value that acts as earlier versions did, such a setting is neither recorded nor in a run's hash: an earlier run
and the same run today are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Keys: a class that a group names in `_target_`, a config group, or a choice of a config group.
LATER: dict[str, dict[str, Any]] = {
    "lra.attention.nystrom.NystromAttention": {
        "landmark_rule": "segment_means",
        "landmark_source": "both",
        "kmeans_steps": 3,
        "coarse_landmarks": 0,
        "causal": False,
        "pinv_ridge": 1e-3,
        "masking": "all",
        "exact_when_short": True,
    },
    "lra.model.classifier.SequenceClassifier": {"packed": "auto"},
    "protocol": {"listops_brackets": "kept"},
    "task=listops": {"listops_brackets": "kept"},
}


def later_settings(settings: Mapping[Any, Any], group: str = "") -> dict[str, Any]:
    """Return the later settings of a config group, with their earlier values.

    Args:
        settings: the group's settings, with `name` or `_target_`.
        group: its name, such as `task`; without it, only those of the class are returned.
    """
    keys = (str(settings.get("_target_")), group, f"{group}={settings.get('name')}")
    return {name: value for key in keys for name, value in LATER.get(key, {}).items()}


def without_later(settings: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Leave out the later settings that have their earlier value."""
    later = later_settings(settings, group)
    return {key: value for key, value in settings.items() if key not in later or value != later[key]}
