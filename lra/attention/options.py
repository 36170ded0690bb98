"""The options of an attention as its YAML file and a protocol have them, for use without Hydra."""

from __future__ import annotations

from typing import Any

from lra.base.paths import DESCRIPTION, NO_OPTION_KEYS, read_choice

OF_PROTOCOL = "${protocol."


def options_of(attention: str, *, protocol: str) -> dict[str, Any]:
    """Read the arguments of the class of one of lra's attentions, with the values of `conf/`."""
    options, switches = read_choice("attention", attention), read_choice("protocol", protocol)
    return {
        key: switches[value.removeprefix(OF_PROTOCOL).rstrip("}")] if str(value).startswith(OF_PROTOCOL) else value
        for key, value in options.items()
        if key not in (*NO_OPTION_KEYS, *DESCRIPTION["attention"])
    }
