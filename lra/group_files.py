"""The keys in a config group's file that are no options, such as `about:` in conf/attention/full.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lra.paths import conf_dirs

OF_THE_FILE = (
    "name",
    "_target_",
    "_partial_",
)  # recorded, but no arguments of the class
OF_A_METHOD = ("about", "source", "cost", "differs")
DESCRIPTION: Mapping[str, tuple[str, ...]] = {  # for readers: in no composed configuration, no hash and no record
    "attention": OF_A_METHOD,
    "mixer": OF_A_METHOD,
    "task": ("about", "terms"),
}


def read_choice(group: str, name: str) -> dict[str, Any]:
    """Read the file of `GROUP=NAME`, the user's own too, as it is written."""
    place = next(path for folder in conf_dirs() if (path := folder / group / f"{name}.yaml").is_file())
    return read_group_file(place)


def read_group_file(path: Path) -> dict[str, Any]:
    """Read a file of a config group as it is written, with its description."""
    content = yaml.safe_load(path.read_text("utf-8"))
    return content if isinstance(content, dict) else {}
