"""Records of version 1, brought to version 2. What version 1 did not record stays not recorded.

It held the attention's knobs, the protocol and the precision; later ones also the recipe, the dev split and the data's
settings. It never held the model, the rest of the trainer, or what of the task is not in its data settings.
"""

from __future__ import annotations

from typing import Any, NotRequired, cast

from pydantic import TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.results.schema import (
    CHECKED,
    SCHEMA_VERSION,
    Approximation,
    Cost,
    Identity,
    Named,
    Outcome,
    Provenance,
    RecipeSettings,
    Record,
    Settings,
    Word,
)


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
class Provenance1(Provenance):
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


def from_version_1(old: Record1) -> Record:
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
        Record,
        {
            **old,
            "schema_version": SCHEMA_VERSION,
            "migrated_from": 1,
            "identity": {**identity, "protocol": identity["protocol"]["name"]},
            "settings": settings,
            "cost": cost,
            "provenance": provenance,
        },
    )
