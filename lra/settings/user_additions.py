"""What a configuration adds with `+key=value`: arguments of Lightning's Trainer, callbacks, loggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lra.runs.schema import TARGET
from lra.settings.option_groups import Trainer

OWN_ARGUMENTS = tuple(Trainer.__annotations__)
CHANGES_NO_NUMBER = ("max_time", "detect_anomaly", "enable_progress_bar", "enable_model_summary")  # not in the hash


def trainer_arguments(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the added arguments of Lightning's Trainer that are not null, from the settings of the trainer."""
    return {str(name): trainer[name] for name in trainer if name not in OWN_ARGUMENTS and trainer[name] is not None}


def targets_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Collect those entries of a config group that name a class to make, such as `callbacks.early_stopping`."""
    entries = {str(name): group[name] for name in group}
    return {name: entry for name, entry in entries.items() if isinstance(entry, Mapping) and TARGET in entry}


def added_settings(trainer: Mapping[str, Any], callbacks: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Collect what was added and may change a number of the result, for the run's hash and its record.

    Callbacks always count: whether one changes a number cannot be known from its name.
    """
    arguments = {name: value for name, value in trainer_arguments(trainer).items() if name not in CHANGES_NO_NUMBER}
    return {key: added for key, added in (("trainer", arguments), ("callbacks", targets_of(callbacks))) if added}
