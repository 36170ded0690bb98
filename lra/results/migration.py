"""Convert records of older schema versions to the next version; settings that were not recorded stay missing.

Version 1 holds the attention's knobs, the protocol and the precision. Its later records also hold the recipe, the dev
split and the data's settings. It has no settings of the model, the rest of the trainer and the rest of the task.
Version 2 calls unverified data `altered`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, cast

from pydantic import TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.results.schema import (
    CHECKED,
    Approximation,
    Cost,
    Identity,
    Named,
    Outcome,
    Provenance,
    RecipeSettings,
    Record,
    RunSettings,
    Settings,
    Word,
)


@with_config(CHECKED)
class Provenance2(Provenance):
    """Provenance in versions 1 and 2, where unverified data is called `altered`."""

    data_origin: Literal["official", "altered", "generated", "stand-in", "own"]  # type: ignore[misc]  # narrower there


@with_config(CHECKED)
class Record2(TypedDict):
    """A record of schema version 2."""

    schema_version: Literal[2]
    migrated_from: NotRequired[Literal[1]]
    identity: Identity
    settings: RunSettings
    outcome: Outcome
    cost: Cost
    approximation: NotRequired[Approximation]
    provenance: Provenance2


@with_config(CHECKED)
class Identity1(Identity):
    """Identity in version 1, which also holds settings."""

    protocol: Named  # type: ignore[misc]  # the protocol's settings; version 2 has its name
    attention_settings: Settings
    dev_split: NotRequired[Word]
    recipe: NotRequired[RecipeSettings]


@with_config(CHECKED)
class Cost1(Cost):
    """Cost in version 1, which also holds the precision."""

    precision: Word


@with_config(CHECKED)
class Provenance1(Provenance2):
    """Provenance in version 1, which also holds the data's settings."""

    data_settings: NotRequired[Settings]


@with_config(CHECKED)
class Record1(TypedDict):
    """A record of schema version 1."""

    identity: Identity1
    outcome: Outcome
    cost: Cost1
    approximation: NotRequired[Approximation]
    provenance: Provenance1


RECORD_1: TypeAdapter[Record1] = TypeAdapter(Record1)
RECORD_2: TypeAdapter[Record2] = TypeAdapter(Record2)


def from_version_1(old: Record1) -> Record2:
    """Convert a record to version 2; `old` is not changed."""
    identity: dict[str, Any] = dict(old["identity"])
    cost: dict[str, Any] = dict(old["cost"])
    provenance: dict[str, Any] = dict(old["provenance"])
    task = {"name": identity["task"]}
    for key, section, name in (("dev_split", identity, "dev_split"), ("data", provenance, "data_settings")):
        if name in section:
            task[key] = section.pop(name)
    settings = {
        "task": task,
        "attention": {"name": identity["attention"], **identity.pop("attention_settings")},
        "protocol": identity["protocol"],
        "size": {"name": identity["size"]},
        "trainer": {"precision": cost.pop("precision")},
    }
    if "recipe" in identity:
        settings["recipe"] = identity.pop("recipe")
    return cast(
        Record2,
        {
            **old,
            "schema_version": 2,
            "migrated_from": 1,
            "identity": {**identity, "protocol": identity["protocol"]["name"]},
            "settings": settings,
            "cost": cost,
            "provenance": provenance,
        },
    )


def from_version_2(old: Record2) -> Record:
    """Convert a record to version 3; `old` is not changed."""
    provenance = old["provenance"]
    origin = "unverified" if provenance["data_origin"] == "altered" else provenance["data_origin"]
    return cast(
        Record,
        {
            **old,
            "schema_version": 3,
            "migrated_from": old.get("migrated_from", 2),
            "provenance": {**provenance, "data_origin": origin},
        },
    )
