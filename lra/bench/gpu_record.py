"""The record of `lra bench gpu`, version 1: step times, parity and shared throughput of cells; one JSON file."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, NotRequired

from pydantic import Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.bench.record_file import read_bench
from lra.results.schema import CHECKED, Amount, Error, Word
from lra.results.settings import hash_of
from lra.schema import Count, Positive


@with_config(CHECKED)
class GpuSettings(TypedDict):
    """Everything that the numbers depend on, except which cells are measured: those of one file may grow."""

    device: Word
    accelerator: Word
    precision: Word
    size: Word
    words: list[Word]
    compiled: bool | str
    steps: Positive
    parity_steps: Positive
    parity_examples: Positive
    git_commit: str | None
    versions: dict[str, str]


@with_config(CHECKED)
class GpuRates(TypedDict):
    """The device's rates, see `lra.bench.ceiling.DeviceRates`."""

    flops_per_second: Amount
    bytes_per_second: Amount
    launch_seconds: Amount


@with_config(CHECKED)
class MeasuredStep(TypedDict):
    """Seconds of a bare step in each turn, in the harness, and of an evaluation batch; memory, work, a run's hours."""

    batch_size: Positive
    batch_parts: Positive
    seconds: Annotated[list[Amount], Field(min_length=1)]
    harness_seconds: Amount
    eval_seconds: Amount
    peak_bytes: Count
    flops: Count
    bytes: Count
    operators: Count
    hours: Amount


@with_config(CHECKED)
class MeasuredParity(TypedDict):
    """The differences of losses, see `lra.bench.step_parity.StepParity`."""

    difference: Error | None
    rounding: Error
    tolerance: Error
    holds: bool


@with_config(CHECKED)
class GpuCell(TypedDict):
    """What has been measured of a cell, and why something of it was left out; `together`: steps/s of N processes."""

    task: Word
    attention: Word
    eager: NotRequired[MeasuredStep]
    compiled: NotRequired[MeasuredStep]
    parity: NotRequired[MeasuredParity]
    together: NotRequired[dict[str, Amount]]
    left_out: NotRequired[dict[str, Word]]


@with_config(CHECKED)
class GpuRecord(TypedDict):
    """The content of the file."""

    schema_version: Literal[1]
    what: Literal["bench gpu"]
    settings: GpuSettings
    rates: NotRequired[GpuRates]
    cells: list[GpuCell]


GPU_RECORD: TypeAdapter[GpuRecord] = TypeAdapter(GpuRecord)


def gpu_record_path(folder: Path, settings: GpuSettings) -> Path:
    """Return the path of the record with these settings, `FOLDER/gpu-HASH.json`."""
    return folder / f"gpu-{hash_of(settings)}.json"


def begin_gpu_record(path: Path, settings: GpuSettings, *, again: Collection[tuple[str, str]] = ()) -> GpuRecord:
    """Read the record at `path` without the cells `again` (task and attention), or begin a new one if there is none.

    Raises:
        UserError: when the file is no valid record.
    """
    if not os.path.lexists(path):
        return {"schema_version": 1, "what": "bench gpu", "settings": settings, "cells": []}
    record = read_bench(path, GPU_RECORD)
    record["cells"] = [cell for cell in record["cells"] if (cell["task"], cell["attention"]) not in again]
    return record


def cell_of(record: GpuRecord, task: str, attention: str) -> GpuCell:
    """Find a cell of the record, or add it."""
    for cell in record["cells"]:
        if (cell["task"], cell["attention"]) == (task, attention):
            return cell
    record["cells"].append({"task": task, "attention": attention})
    return record["cells"][-1]
