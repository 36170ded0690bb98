"""What sets a probe apart from other tasks: its data is drawn by a function that its YAML file names."""

from collections.abc import Mapping
from typing import Any

from lra.base.paths import conf_names, read_choice

GIVEN = ("rng", "count", "length", "training")  # arguments of a probe's function that are no settings of its task


def is_probe(task: Mapping[str, Any]) -> bool:
    """Tell whether a task, with the settings of its file, is a probe: `open_source` has a function `generate`."""
    return "generate" in (task.get("open_source") or {})


def is_tested_longer(task: str, positions: str) -> bool:
    """Tell whether a run is tested on longer sequences too: one on a probe, with no learned vector of each position."""
    return positions != "learned" and probe_named(task)


def probe_named(task: str) -> bool:
    """Tell whether `task=TASK` is there and is a probe."""
    return task in conf_names("task") and is_probe(read_choice("task", task))
