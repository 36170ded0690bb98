"""Hide the user name and password of an address, such as a proxy's, in what is printed or stored."""

from __future__ import annotations

import re
from typing import Any

# What stands before the host: up to an `@`, or after a colon up to the last `@` of the word, for a password may hold
# any letter. `https://host:80/x@y` loses its host by that, which is the smaller harm.
CREDENTIALS = re.compile(r"(?<=://)(?:[^\s/?#@:]*:\S*|[^\s/?#]+)@")
HIDDEN = "***@"


def without_credentials(text: str) -> str:
    """Return a text in which `***` stands for the user name and password of every address."""
    return CREDENTIALS.sub(HIDDEN, text)


def all_without_credentials(value: Any) -> Any:
    """Return nested plain values, as of a configuration, with the texts among them as by `without_credentials`."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, dict):
        return {key: all_without_credentials(inner) for key, inner in value.items()}
    return [all_without_credentials(inner) for inner in value] if isinstance(value, list) else value
