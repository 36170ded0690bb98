"""Records of the same settings, side by side: what may be averaged, and what a row is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from lra.results.collect import Record

Settings = dict[str, Any]


def group_by_variant(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records by attention and by what sets their settings apart; the keys are names for rows.

    A knob of an attention that is not the same in all its records stands in the name: `nystrom (num_landmarks=32)`. Of
    protocol, size and recipe what most records share goes without saying. So records of other settings never get into
    one average.
    """
    records = list(records)
    settings = [_settings(record) for record in records]
    usual = _usual(records, settings)
    groups: dict[str, list[Record]] = {}
    for record, chosen in zip(records, settings, strict=True):
        apart = [
            f"{key.removeprefix('attention.')}={value}"
            for key, value in chosen.items()
            if usual[_family(record, key), key] != repr(value)
        ]
        name = record["identity"]["attention"]
        groups.setdefault(f"{name} ({', '.join(apart)})" if apart else name, []).append(record)
    return dict(sorted(groups.items()))


def _usual(records: list[Record], settings: list[Settings]) -> dict[tuple[str, str], str | None]:
    """For each family of records and each key, the value that goes without saying."""
    seen: dict[tuple[str, str], Counter[str]] = {}
    for record, chosen in zip(records, settings, strict=True):
        for key, value in chosen.items():
            seen.setdefault((_family(record, key), key), Counter())[repr(value)] += 1
    return {family: _most(family[1], counts) for family, counts in seen.items()}


def _most(key: str, counts: Counter[str]) -> str | None:
    """The most frequent value; None, which no value is, for a knob of which there are several."""
    if key.startswith("attention.") and len(counts) > 1:
        return None
    return max(sorted(counts), key=lambda value: counts[value])


def _family(record: Record, key: str) -> str:
    """Among which records a key's value has a usual one."""
    identity = record["identity"]
    if key.startswith("attention."):
        return f"{identity['attention']}, {identity['protocol']['name']}"
    return str(identity["task"]) if key.startswith("recipe.") else identity["protocol"]["name"]


def _settings(record: Record) -> Settings:
    """What sets runs apart beside task, attention and seed, flat."""
    identity = record["identity"]
    found = {f"attention.{key}": value for key, value in identity["attention_settings"].items() if key != "name"}
    found["protocol"] = identity["protocol"]["name"]
    found |= {f"protocol.{key}": value for key, value in identity["protocol"].items() if key != "name"}
    found["size"] = identity["size"]
    for key, value in identity.get("recipe", {}).items():
        nested = {f"recipe.{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {}
        found |= nested or {f"recipe.{key}": value}
    if any(key.startswith("recipe.") for key in found):  # the schedule repeats these two
        found = {key: value for key, value in found.items() if not key.startswith("recipe.schedule.")}
    return found
