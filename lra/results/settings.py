"""The settings of a run as one flat list: what their hash is of, and what two runs differ in."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
NOT_RECORDED = "not recorded"  # no value has these words: text with a space in it stands in quotes
Flat = dict[str, str]  # dotted key → value in words; different values have different words


def hash_of(settings: Mapping[str, object]) -> str:
    """Hash of the settings, eight hex digits: equal for two runs exactly if their settings are."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]


def flat(settings: Mapping[str, object], prefix: str = "") -> Flat:
    """Every leaf of the settings by its dotted key, its value in words.

    A setting that only repeats another of its name (`attention.pinv_start` the protocol's, `recipe.schedule.steps` the
    recipe's) says so in place of the value, so that one change is one difference.
    """
    leaves = dict(_leaves(settings, prefix))
    return {key: _echo(key, leaves) or in_words(value) for key, value in leaves.items()}


def in_words(value: object) -> str:
    """A value as one types it; text that could be taken for something else is in quotes, as in JSON."""
    return value if isinstance(value, str) and _is_plain(value) else json.dumps(value)


def _is_plain(text: str) -> bool:
    if not PLAIN.fullmatch(text):
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def branches(absent: Iterable[str], present: Iterable[str]) -> list[str]:
    """The keys that are absent, whole branches as one: `model` for `model.width`, `model.dropout` …"""
    there = {key[:end] for key in present for end in range(len(key) + 1) if end == len(key) or key[end] == "."}
    shortest: dict[str, None] = {}
    for key in absent:
        parts = key.split(".")
        heads = (".".join(parts[: count + 1]) for count in range(len(parts)))
        shortest[next((head for head in heads if head not in there), key)] = None
    return sorted(shortest)


def _leaves(settings: Mapping[str, object], prefix: str) -> Iterable[tuple[str, object]]:
    for name, value in settings.items():
        key = name if name.isidentifier() else json.dumps(name)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _echo(key: str, leaves: Mapping[str, object]) -> str | None:
    """`=protocol.pinv_start` for a leaf that has that one's name and value; None for one that stands for itself."""
    *path, name = key.split(".")
    owners = [".".join([*path[:depth], name]) for depth in range(1, len(path))]
    if path and path[0] != "protocol":
        owners.insert(0, f"protocol.{name}")
    for owner in owners:
        if owner in leaves and name != "name" and in_words(leaves[owner]) == in_words(leaves[key]):
            return f"={owner}"
    return None
