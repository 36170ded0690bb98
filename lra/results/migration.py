"""Records of older versions, each brought to the next one. What a version did not record stays not recorded.

Version 1 held the attention's knobs, the protocol and the precision; later records also the recipe, the dev split and
the data's settings. It never held the model, the rest of the trainer, or what of the task is not in its data settings.
Version 2 called unverified data altered.
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
    """Data that are not the published archive's had another name."""

    data_origin: Literal["official", "altered", "generated", "stand-in", "own"]  # type: ignore[misc]  # another word there


@with_config(CHECKED)
class Record2(TypedDict):
    """A record of version 2."""

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
    """Names and settings together."""

    protocol: Named  # type: ignore[misc]  # the settings where version 2 has the name
    attention_settings: Settings
    dev_split: NotRequired[Word]
    recipe: NotRequired[RecipeSettings]


@with_config(CHECKED)
class Cost1(Cost):
    """The precision stood here."""

    precision: Word


@with_config(CHECKED)
class Provenance1(Provenance2):
    """The data's settings stood here."""

    data_settings: NotRequired[Settings]


@with_config(CHECKED)
class Record1(TypedDict):
    """A record of version 1."""

    identity: Identity1
    outcome: Outcome
    cost: Cost1
    approximation: NotRequired[Approximation]
    provenance: Provenance1


RECORD_1: TypeAdapter[Record1] = TypeAdapter(Record1)
RECORD_2: TypeAdapter[Record2] = TypeAdapter(Record2)


def from_version_1(old: Record1) -> Record2:
    """The same record in version 2's form; `old` is left as it is."""
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
    """The same record in version 3's form; `old` is left as it is."""
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
