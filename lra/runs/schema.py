"""The schema of a record, version 3, which reading, writing and the type checker share.

A record consists of plain dictionaries, as in JSON, so it is declared as a `TypedDict`: mypy knows its keys, and no
conversion to objects is needed. pydantic checks types and ranges at run time.

A new optional field does not raise the version; unknown fields are kept and ignored. A field that is renamed, removed
or gets another meaning raises the version: published records are rewritten, and others are refused with the commit that
reads them. A setting that is missing in a record was not recorded, and no default replaces it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.base.checked_json import Count, Positive

SCHEMA_VERSION = 3
CHECKED = ConfigDict(strict=True, extra="allow")  # pydantic passes it on to the types of the fields


def _is_a_time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Word = Annotated[str, Field(min_length=1, max_length=200)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, le=1e30, allow_inf_nan=False)]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$"), AfterValidator(_is_a_time)]
Settings = dict[str, Any]
TARGET = "_target_"  # Hydra's key for the class that a group of options is passed to
ALWAYS_RECORDED = ("accelerator", "precision", "accumulate_grad_batches")  # options of the trainer; others if set
MIXERS: tuple[Literal["attention", "mixer"], ...] = ("attention", "mixer")  # a record has one of the two


class Identity(TypedDict):
    """The names that identify a run.

    `attention` names the method in tables: the attention, the mixer in its place, or a whole model.
    """

    task: Word
    attention: Word
    protocol: Word
    size: Word
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    run_group: Word


class Named(TypedDict):
    """Settings of a config group that has a name."""

    name: Word


class TaskSettings(Named):
    """Settings of `conf/task`; `data` holds those of the run's size."""

    dev_split: NotRequired[Word]
    data: NotRequired[Settings]


class AttentionSettings(Named):
    """Settings of `conf/attention`, with every option."""

    num_landmarks: NotRequired[Positive]


class RecipeSettings(TypedDict):
    """Settings of `conf/recipe`, with optimizer and schedule."""

    steps: Positive


class TrainerSettings(TypedDict):
    """Those settings of `conf/trainer` that can change a result."""

    precision: Word


@with_config(CHECKED)
class TunedSettings(TypedDict):
    """The search that has chosen some options of a run, by dev accuracy.

    `space` is the hash of `options`, what each option was drawn from, and `seed`, that of the draw and of the trials.
    `budget` is the number of trials, `tried` that of different configurations among them.
    """

    space: Word
    options: dict[str, str]
    seed: Count
    budget: Positive
    tried: Positive


class RunSettings(TypedDict):
    """All settings that can change a result, except the seed; see `lra.settings.which_run`.

    A run has either `attention` or `mixer`. Other missing groups were not recorded.
    """

    task: TaskSettings
    attention: NotRequired[AttentionSettings]
    mixer: NotRequired[Named]
    protocol: Named
    size: Named
    model: NotRequired[Settings]
    recipe: NotRequired[RecipeSettings]
    pretrain: NotRequired[Settings]
    trainer: NotRequired[TrainerSettings]
    callbacks: NotRequired[Settings]
    tuned: NotRequired[TunedSettings]


class DevCurve(TypedDict):
    """Every dev pass of a run: the optimizer steps before it, which grow, and its accuracy as a fraction."""

    step: list[Positive]
    accuracy: list[Fraction]


class Outcome(TypedDict):
    """The outcome of a run; accuracies are fractions in [0, 1], `test_correct` is made by `lra.runs.record`."""

    test_accuracy: Fraction
    test_loss: NotRequired[Error]
    test_correct: NotRequired[str]
    confusion: NotRequired[list[list[Count]]]
    test_examples: Positive
    train_examples: NotRequired[Positive]
    dev_examples: NotRequired[Positive]
    best_dev_accuracy: Fraction
    best_step: Count
    stopped_step: NotRequired[Positive]
    dev_curve: NotRequired[DevCurve]
    steps: Positive
    majority_rate: Fraction


class Cost(TypedDict):
    """The cost of a run.

    `peak_memory_bytes` is the largest memory of the process or, on a GPU, of its allocator; the process of a cell on a
    CPU is forked, and counts only the pages of libraries that it uses. `batch_parts` is the number of parts into which
    each batch was split to need less of it. `gpus` names the GPUs of the machine that the first process saw and used,
    as CUDA_VISIBLE_DEVICES does: by index, or by name.
    """

    parameters: Positive
    train_seconds: Amount
    steps_per_second: Amount
    peak_memory_bytes: Positive
    batch_parts: NotRequired[Positive]
    device: Word
    gpus: NotRequired[list[Word]]


@with_config(CHECKED)
class PretrainingSource(TypedDict):
    """The earlier run whose pretraining a run has taken: its settings, seed and data; and the FLOPs of its steps."""

    config_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    seed: Count
    data_sha256: dict[str, str]
    flops: Positive


class Pretraining(TypedDict):
    """The self-pretraining of the run's encoder, before the steps of the outcome; see `lra.from_config.pretraining`.

    `dev_accuracy` is the fraction of the masked positions of the dev part that the best weights, at `best_step`,
    predict right; with an L1 loss it is 1 − mean absolute error / 255, in grey levels. FLOPs are those of matrix
    products and Fourier transforms in all steps of a stage, counted on sequences of full length: `flops` those of the
    pretraining, `flops_after` those of the steps after it.
    """

    steps: Positive
    best_step: Positive
    dev_accuracy: Fraction
    train_seconds: Amount
    flops: NotRequired[Positive]
    flops_after: NotRequired[Positive]
    taken_from: NotRequired[PretrainingSource]


class Approximation(TypedDict):
    """How well Nyström layers approximate exact attention, see `lra.training.approximation`."""

    sequences: NotRequired[Positive]
    pinv_residual: Error
    attention_error: Error
    pinv_residual_layers: NotRequired[list[Error]]
    attention_error_layers: NotRequired[list[Error]]


class Provenance(TypedDict):
    """The origin of a run: commit, versions and data; `finished_at` is ISO 8601 in UTC.

    `git_commit` is that of the code which trained the last steps, `earlier_commits` are those before it, if the run was
    resumed with other code. `data_source` has the hash of each file of a source of several, and a split of its own.
    """

    git_commit: NotRequired[str | None]
    earlier_commits: NotRequired[list[str | None]]
    config_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    data_sha256: dict[str, str]
    data_origin: Literal["official", "unverified", "pickle", "generated", "stand-in", "own"]
    data_check: NotRequired[Literal["structure", "sha256"]]
    data_source: NotRequired[dict[str, Any]]
    versions: dict[str, str]
    wandb_id: NotRequired[str | None]
    finished_at: Time


@with_config(CHECKED)
class RecordFields(TypedDict):
    """The record of one run; `migrated_from` is the schema version in which it was written, if that was older.

    `longer` has the accuracies, in [0, 1], on sequences longer than those of the training, by their length; None where
    the weights are for one length.

    Version 1 had no settings of the model, the rest of the trainer and the rest of the task, which its hash covers.
    """

    schema_version: Literal[3]
    migrated_from: NotRequired[Literal[1, 2]]
    identity: Identity
    settings: RunSettings
    outcome: Outcome
    cost: Cost
    pretraining: NotRequired[Pretraining]
    approximation: NotRequired[Approximation]
    longer: NotRequired[dict[str, Fraction | None]]
    provenance: Provenance


class Record(dict[str, Any]):
    """The record of one run: the JSON object of its `result.json` (`RecordFields`), with a name for what is read often.

    Accuracies are fractions in [0, 1].
    """

    @property
    def identity(self) -> Identity:
        """The names that identify the run."""
        return cast(Identity, self["identity"])

    @property
    def settings(self) -> RunSettings:
        """All settings that can change the result, except the seed."""
        return cast(RunSettings, self["settings"])

    @property
    def outcome(self) -> Outcome:
        """What came out."""
        return cast(Outcome, self["outcome"])

    @property
    def cost(self) -> Cost:
        """Seconds, memory, parameters, device."""
        return cast(Cost, self["cost"])

    @property
    def provenance(self) -> Provenance:
        """Commit, versions and data."""
        return cast(Provenance, self["provenance"])

    @property
    def pretraining(self) -> Pretraining | None:
        """The self-pretraining of its encoder, if there was one."""
        return cast("Pretraining | None", self.get("pretraining"))

    @property
    def approximation(self) -> Approximation | None:
        """How well Nyström layers approximate exact attention, if it was measured."""
        return cast("Approximation | None", self.get("approximation"))

    @property
    def longer(self) -> dict[str, float | None]:
        """The accuracies on longer sequences, by their length; None where the weights are for one length."""
        return cast(dict[str, float | None], self.get("longer", {}))

    @property
    def tuned(self) -> TunedSettings | None:
        """The search that has chosen some options, if there was one."""
        return self.settings.get("tuned")

    @property
    def task(self) -> str:
        """The task."""
        return self.identity["task"]

    @property
    def method(self) -> str:
        """The attention, the mixer in its place, or a whole model."""
        return self.identity["attention"]

    @property
    def protocol(self) -> str:
        """The protocol."""
        return self.identity["protocol"]

    @property
    def size(self) -> str:
        """The size of the task."""
        return self.identity["size"]

    @property
    def seed(self) -> int:
        """The seed."""
        return self.identity["seed"]

    @property
    def run_group(self) -> str:
        """The run group."""
        return self.identity["run_group"]

    @property
    def steps(self) -> int:
        """The optimizer steps of the recipe."""
        return self.outcome["steps"]

    @property
    def steps_text(self) -> str:
        """The number of steps, of a run that a callback has ended early in the form `8 of 40`."""
        outcome = self.outcome
        return (f"{outcome['stopped_step']:,} of " if "stopped_step" in outcome else "") + f"{outcome['steps']:,}"

    @property
    def finished_text(self) -> str:
        """The state of the finished run in words."""
        ended = f", ended at step {self.steps_text}" if "stopped_step" in self.outcome else ""
        return f"finished, {self.test_accuracy:.2%}{ended}"

    @property
    def test_accuracy(self) -> float:
        """The test accuracy of the best checkpoint."""
        return self.outcome["test_accuracy"]

    @property
    def best_dev_accuracy(self) -> float:
        """The best accuracy of a dev pass."""
        return self.outcome["best_dev_accuracy"]

    @property
    def majority_rate(self) -> float:
        """What the most frequent class alone gives on the test part."""
        return self.outcome["majority_rate"]

    @property
    def dev_curve(self) -> DevCurve | None:
        """Every dev pass, if it was recorded."""
        return self.outcome.get("dev_curve")

    @property
    def train_seconds(self) -> float:
        """Seconds of training, those of a pretraining included."""
        return self.cost["train_seconds"] + (self.pretraining["train_seconds"] if self.pretraining else 0.0)

    @property
    def config_hash(self) -> str:
        """The hash of the settings, eight hexadecimal digits."""
        return self.provenance["config_hash"]

    @property
    def data_origin(self) -> str:
        """Where the data is from, such as `official`."""
        return self.provenance["data_origin"]


def method_of(settings: RunSettings) -> str | None:
    """Name the method of some settings: a model of the user's own, else the attention or mixer."""
    mixers = [settings[group]["name"] for group in MIXERS if group in settings]
    return own_model(settings.get("model", {})) or (mixers[0] if len(mixers) == 1 else None)


def method_column(records: Iterable[Record]) -> str:
    """The head of the column that names rows: `attention` if every row is one, else the field's word for all, `method`.

    A mixer in the attention's place is none, and a model of the user's own need not use the attention that it is given.
    """
    settings = (record.settings for record in records)
    all_attentions = all("attention" in own and not own_model(own.get("model", {})) for own in settings)
    return "attention" if all_attentions else "method"


def own_model(model: Mapping[str, Any]) -> str | None:
    """Name a model that is not the shared encoder by its `name`, else by its class; None for the encoder."""
    target = model.get(TARGET)
    return model.get("name") or (None if is_ours(target) else str(target).rsplit(".", 1)[-1])


NYSTROM = "lra.attention.nystrom.NystromAttention"  # the `_target_` of the attention whose errors are recorded


def is_ours(target: object) -> bool:
    """Tell whether a `_target_` is in this package; settings without a `_target_` count as ours."""
    return target is None or str(target).startswith("lra.")


RECORD: TypeAdapter[RecordFields] = TypeAdapter(RecordFields)
TUNED: TypeAdapter[TunedSettings] = TypeAdapter(TunedSettings)
PRETRAINING_SOURCE: TypeAdapter[PretrainingSource] = TypeAdapter(PretrainingSource)
