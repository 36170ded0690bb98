"""Settings of a run as a flat mapping from dotted keys to texts, so that two runs can be compared."""

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
NOT_RECORDED = "not recorded"  # cannot be mistaken for a value: `value_text` puts text with a space in quotes
FlatSettings = dict[str, str]  # dotted key → value as text; different values have different texts


def flatten(settings: Mapping[str, object], prefix: str = "") -> FlatSettings:
    """Flatten nested settings to a mapping from dotted keys to values as text.

    A setting that repeats another setting of the same name refers to it instead: `attention.pinv_start` is given as
    `=protocol.pinv_start`. So a change of both is shown as one difference.
    """
    leaves = {key: value_text(value) for key, value in _leaves(settings, prefix)}
    return {key: _echo(key, leaves) or text for key, text in leaves.items()}


def flat_keys(settings: Mapping[str, object]) -> set[str]:
    """The dotted keys of nested settings."""
    return {key for key, _ in _leaves(settings, "")}


def value_text(value: object) -> str:
    """Write a value as a user types it; text that looks like another type is put in quotes, as in JSON."""
    return value if isinstance(value, str) and _is_plain(value) else json.dumps(value)


@functools.lru_cache(100_000)
def _is_plain(text: str) -> bool:
    if not PLAIN.fullmatch(text):
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def branches(absent: Sequence[str], present: Iterable[str]) -> list[str]:
    """Shorten absent keys to whole branches: `model` in place of `model.width`, `model.dropout` and so on."""
    if not absent:
        return []
    known = {branch for key in present for branch in _branches_of(key)}
    return sorted({next((branch for branch in _branches_of(key) if branch not in known), key) for key in absent})


def _branches_of(key: str) -> Iterable[str]:
    """Cut a dotted key after each part: `a`, `a.b`, `a.b.c`."""
    return accumulate(key.split("."), "{}.{}".format)


def _leaves(settings: Mapping[str, object], prefix: str) -> Iterable[tuple[str, object]]:
    for name, value in settings.items():
        key = name if name.isidentifier() else json.dumps(name)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _echo(key: str, leaves: FlatSettings) -> str | None:
    """Return a reference such as `=protocol.pinv_start` if a leaf repeats another setting, else None."""
    *path, name = key.split(".")
    owners = [".".join([*path[:depth], name]) for depth in range(1, len(path))]
    if path and path[0] != "protocol":
        owners.insert(0, f"protocol.{name}")
    for owner in owners:
        if owner in leaves and name != "name" and leaves[owner] == leaves[key]:
            return f"={owner}"
    return None
