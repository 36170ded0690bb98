"""Settings of our classes that were added later: records and stored configurations of earlier runs do not have them.

At the value that acts as earlier versions did, such a setting is neither recorded nor in a run's hash: an earlier run
and the same run today are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
}


def later_settings(group: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the later settings of the class that a group names in `_target_`, with their earlier values."""
    return LATER.get(str(group.get("_target_")), {})


def without_later(group: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the later settings that have their earlier value."""
    later = later_settings(group)
    return {key: value for key, value in group.items() if key not in later or value != later[key]}
