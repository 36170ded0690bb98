"""The options of an attention as its YAML file and a protocol have them, for use without Hydra."""

from __future__ import annotations

from typing import Any

import yaml

from lra.paths import conf_dir

OF_THE_FILE = ("name", "_target_", "_partial_")  # keys of a group's file that are no arguments of its class
OF_PROTOCOL = "${protocol."


def options_of(attention: str, *, protocol: str) -> dict[str, Any]:
    """Read the arguments of the class of one of lra's attentions, with the values of `conf/`."""
    options, switches = (
        yaml.safe_load((conf_dir() / group / f"{name}.yaml").read_text("utf-8"))
        for group, name in (("attention", attention), ("protocol", protocol))
    )
    return {
        key: switches[value.removeprefix(OF_PROTOCOL).rstrip("}")] if str(value).startswith(OF_PROTOCOL) else value
        for key, value in options.items()
        if key not in OF_THE_FILE
    }
