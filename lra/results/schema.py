"""What a record is, version 3: the one declaration that reading, writing and the type checker share.

A record stays the plain dictionaries that JSON has, so it is a `TypedDict`, not a model class: mypy knows its keys,
nothing has to be turned into objects and back, and ranges stand beside the fields. pydantic checks it at run time.

What later versions do: a new optional field does not raise the version, and fields that this one does not know are
kept and not looked at; a field that is renamed, removed or means something else raises it, and `lra.results.migration`
learns to read the one before. A setting that a record does not hold was not recorded; nothing fills it in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.schema import Count, Positive

SCHEMA_VERSION = 3
CHECKED = ConfigDict(strict=True, extra="allow")

Word = Annotated[str, Field(min_length=1, max_length=200)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, le=1e30, allow_inf_nan=False)]
Settings = dict[str, Any]
MIXERS: tuple[Literal["attention", "mixer"], ...] = ("attention", "mixer")  # a record has one of the two


@with_config(CHECKED)
class Identity(TypedDict):
    """Which run it is; the names are those of its settings.

    `attention` is what a row is called after: the attention, the mixer that stands in its place, or a whole model.
    """

    task: Word
    attention: Word
    protocol: Word
    size: Word
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    run_group: Word


@with_config(CHECKED)
class Named(TypedDict):
    """Settings of a group that has a name."""

    name: Word


@with_config(CHECKED)
class TaskSettings(Named):
    """`conf/task`, with the data settings of the run's size in `data`."""

    dev_split: NotRequired[Word]
    data: NotRequired[Settings]


@with_config(CHECKED)
class AttentionSettings(Named):
    """`conf/attention`, every knob."""

    num_landmarks: NotRequired[Positive]


@with_config(CHECKED)
class RecipeSettings(TypedDict):
    """`conf/recipe`, whole, optimizer and schedule nested."""

    steps: Positive


@with_config(CHECKED)
class TrainerSettings(TypedDict):
    """What of `conf/trainer` moves a number."""

    precision: Word


@with_config(CHECKED)
class RunSettings(TypedDict):
    """Everything that moves a number but the seed: what `lra.config.settings` gives and the configuration's hash is of.

    Either `attention` or the `mixer` in its place is there. Other groups that are missing were not recorded.
    """

    task: TaskSettings
    attention: NotRequired[AttentionSettings]
    mixer: NotRequired[Named]
    protocol: Named
    size: Named
    model: NotRequired[Settings]
    recipe: NotRequired[RecipeSettings]
    trainer: NotRequired[TrainerSettings]


@with_config(CHECKED)
class DevCurve(TypedDict):
    """Every dev pass of a run: the optimizer steps before it, which grow, and its accuracy as a fraction."""

    step: list[Positive]
    accuracy: list[Fraction]


@with_config(CHECKED)
class Outcome(TypedDict):
    """What came out; accuracies are fractions. `test_correct` is of `lra.results.correctness`."""

    test_accuracy: Fraction
    test_loss: NotRequired[Error]
    test_correct: NotRequired[str]
    confusion: NotRequired[list[list[Count]]]
    test_examples: Positive
    train_examples: NotRequired[Positive]
    dev_examples: NotRequired[Positive]
    best_dev_accuracy: Fraction
    best_step: Count
    dev_curve: NotRequired[DevCurve]
    steps: Positive
    majority_rate: Fraction


@with_config(CHECKED)
class Cost(TypedDict):
    """What it took; memory is the process's peak."""

    parameters: Positive
    train_seconds: Amount
    steps_per_second: Amount
    peak_memory_bytes: Positive
    device: Word


@with_config(CHECKED)
class Approximation(TypedDict):
    """How well Nyström layers approximate exact attention, see `lra.training.approximation`."""

    sequences: NotRequired[Positive]
    pinv_residual: Error
    attention_error: Error
    pinv_residual_layers: NotRequired[list[Error]]
    attention_error_layers: NotRequired[list[Error]]


@with_config(CHECKED)
class Provenance(TypedDict):
    """Where it comes from; times are UTC, so that their order as text is that of time."""

    git_commit: NotRequired[str | None]
    config_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    data_sha256: dict[str, str]
    data_origin: Literal["official", "unverified", "generated", "stand-in", "own"]
    data_check: NotRequired[Literal["structure", "sha256"]]
    versions: dict[str, str]
    wandb_id: NotRequired[str | None]
    finished_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$")]


@with_config(CHECKED)
class Record(TypedDict):
    """The record of one run. `migrated_from` is the version it was written in, if that was an older one."""

    schema_version: Literal[3]
    migrated_from: NotRequired[Literal[1, 2]]
    identity: Identity
    settings: RunSettings
    outcome: Outcome
    cost: Cost
    approximation: NotRequired[Approximation]
    provenance: Provenance


def method_of(settings: RunSettings) -> str | None:
    """What the settings' row is called after: a model with a name of its own, else the attention or other mixer."""
    mixers = [settings[group]["name"] for group in MIXERS if group in settings]
    return own_model(settings.get("model", {})) or (mixers[0] if len(mixers) == 1 else None)


def own_model(model: Mapping[str, Any]) -> str | None:
    """What a model that is not the shared encoder is called: by its `name`, else by its class; None for the encoder."""
    target = model.get("_target_")
    return model.get("name") or (None if is_ours(target) else str(target).rsplit(".", 1)[-1])


def is_ours(target: object) -> bool:
    """Whether a `_target_` is of this package, as settings without one are."""
    return target is None or str(target).startswith("lra.")


RECORD: TypeAdapter[Record] = TypeAdapter(Record)
