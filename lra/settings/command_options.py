"""The options that a command has of its own, beside those of its runs; `conf/VERB.yaml` has their values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any, Literal

from lra.base.option_types import Count, CountOrZero, MayLack, Names, Positive, Seed, kinds_of
from lra.settings.option_groups import Kinds, Processes
from lra.settings.run_config import Config, RunConfig, part


class OfOneRun(Config):
    """What names a run: the hash of its settings or its folder, and its seed."""

    run: MayLack[str] = part()
    seed: MayLack[Seed] = part()


class Shown(Config):
    """How a table is shown, and where it and its figure are written; each command says which formats it has."""

    format: str = part()
    out: MayLack[str] = part()
    figure: MayLack[str] = part()
    figure_columns: Literal[1, 2] = part()


class OverRuns(Shown):
    """Of `lra table`, `lra compare`, `lra sweep` and `lra tune`; not all have each of them."""

    what: str = part()
    sweep: str = part()
    search: MayLack[str] = part()
    budget: Count = part()
    reference: str = part("paper")
    notes: Literal["short", "all"] = part()
    flops: bool = part(False)
    workers: Processes = part()
    workers_per_device: Processes = part()


class Worker(Config):
    """Of one worker of these, which a launcher starts."""

    of: str = part()
    overrides: list[Any] = part()
    places: list[Any] = part()
    worker: int = part()


class Report(Config):
    """Of `lra report`."""

    run_group: str = part()
    reference: str = part()
    out: MayLack[str] = part()
    samples: CountOrZero = part()


class Publish(OfOneRun):
    """Of `lra publish`."""

    run_group: MayLack[str] = part()
    name: MayLack[str] = part()
    to: str = part()
    dirty: bool = part()


class Import(Config):
    """Of `lra import`."""

    from_: MayLack[str] = part()
    into: MayLack[str] = part()


class Show(RunConfig):
    """Of `lra show`."""

    what: str = part()
    file: MayLack[str] = part()
    examples: CountOrZero = part()
    split: Literal["train", "dev", "test"] = part()
    format: str = part()


class Evaluate(OfOneRun):
    """Of `lra evaluate`; `accelerator`, `precision` and `threads` are the trainer's."""

    accelerator: MayLack[str] = part()
    precision: MayLack[str] = part()
    threads: Count | None = part()
    predictions: CountOrZero = part()


class Export(OfOneRun):
    """Of `lra export`."""

    to: MayLack[str] = part()


class Diagnose(RunConfig):
    """Of `lra diagnose`."""

    run: MayLack[str] = part()
    to: MayLack[str] = part()
    figures: MayLack[str] = part()
    examples: CountOrZero = part()
    sequences: Count = part()


class Check(RunConfig):
    """Of `lra check`."""

    twin: MayLack[str] = part()


class BenchStep(RunConfig):
    """Of `lra bench step`."""

    steps: Count = part()
    dev_batches: Count = part()
    trace: MayLack[str] = part()
    out: MayLack[str] = part()


class BenchAttention(Shown):
    """Of `lra bench attention`."""

    n: list[Any] = part()
    batch: Count = part()
    heads: Count = part()
    head_dim: Count = part()
    backward: bool = part()
    dtype: Literal["float32", "float64", "bfloat16", "float16"] = part()
    device: Literal["cpu", "cuda"] = part()
    threads: Count | None = part()
    packed: Literal["auto", "true", "false"] | bool = part()
    repeats: Count = part()
    cell_seconds: Positive = part()
    against: Literal["pypi"] | None = part()
    show: MayLack[str] = part()
    force: bool = part()


class FillMask(Config):
    """Of `lra fill-mask`."""

    checkpoint: MayLack[str] = part()
    text: MayLack[str] = part()
    top: Count = part()
    format: str = part()


COMMANDS: tuple[type[Config], ...] = (
    *(RunConfig, OverRuns, Worker, Report, Publish, Import, Show, Evaluate, Export),
    *(Diagnose, Check, BenchStep, BenchAttention, FillMask),
)


def own_options(commands: Iterable[type[Config]] = COMMANDS) -> Kinds:
    """Collect the declared types of the commands' own options by name: an option of several has the same in each."""
    kinds: Kinds = {}
    for command in commands:
        for name, kind in kinds_of(command).items():
            if kind is not Names and not is_dataclass(kind):  # a config group
                assert kinds.setdefault(name, kind) == kind, f"{name} of {command.__name__}"
    return kinds
