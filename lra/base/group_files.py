"""The keys in a config group's file that are no options, such as `about:` in conf/attention/full.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from lra.base.paths import conf_dirs, conf_names

OF_THE_FILE = (
    "name",
    "_target_",
    "_partial_",
)  # recorded, but no arguments of the class
OF_A_METHOD = ("display", "cite", "about", "source", "cost", "differs")
DESCRIPTION: Mapping[str, tuple[str, ...]] = {  # for readers: in no composed configuration, no hash and no record
    "attention": OF_A_METHOD,
    "mixer": OF_A_METHOD,
    "task": ("display", "about", "terms"),
}


def read_choice(group: str, name: str) -> dict[str, Any]:
    """Read the file of `GROUP=NAME`, the user's own too, with interpolations as they are written.

    Options come from the group's other files too, which its defaults list names; a description is of the file itself.
    """
    place = next(path for folder in conf_dirs() if (path := folder / group / f"{name}.yaml").is_file())
    own: dict[str, Any] = yaml.safe_load(place.read_text("utf-8"))
    options: dict[str, Any] = {}
    for other in own.pop("defaults", []):
        if other in conf_names(group):
            options = _merged(options, read_choice(group, other))
    described = DESCRIPTION.get(group, ())
    return _merged({key: value for key, value in options.items() if key not in described}, own)


def _merged(first: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    both = {key: _merged(first[key], value) for key, value in then.items() if _are_groups(first.get(key), value)}
    return first | then | both


def _are_groups(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)
