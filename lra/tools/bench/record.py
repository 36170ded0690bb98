"""The record of a bench, version 1: its settings, and a cell for each method and length; one JSON file."""

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.base.checked_json import Count, Positive, checked, parsed_json
from lra.base.files import replace_text
from lra.runs.record import read_text
from lra.runs.schema import CHECKED, Amount, Error, Word
from lra.runs.settings_hash import hash_of

PassName = Literal["forward", "both"]
PASSES: tuple[PassName, ...] = ("forward", "both")
PASS_TITLES = {"forward": "forward", "both": "forward + backward"}
MEASURE_AGAIN = "move it away and measure again"


@with_config(CHECKED)
class BenchPass(TypedDict):
    """One pass of a method at one length; all numbers are of the whole batch.

    `seconds` has a call's seconds in each turn, `peak_bytes` the most memory beyond inputs and parameters, `flops` the
    work of products, convolutions and Fourier transforms, `product_seconds` the time of plain products of the same
    shapes.
    """

    seconds: Annotated[list[Amount], Field(min_length=1)]
    peak_bytes: Count
    flops: Count
    product_seconds: Error


@with_config(CHECKED)
class BenchCell(TypedDict):
    """A method at one length: its passes, or why it was left out."""

    method: Word
    length: Positive
    left_out: NotRequired[Word]
    forward: NotRequired[BenchPass]
    both: NotRequired[BenchPass]


@with_config(CHECKED)
class BenchedMethod(TypedDict):
    """Name and settings of a method; `kind` is `attention`, `mixer` or `peer`."""

    name: Word
    kind: Literal["attention", "mixer", "peer"]
    settings: dict[str, Any]


@with_config(CHECKED)
class BenchSettings(TypedDict):
    """Everything that the numbers depend on, except the lengths: those of one file may grow."""

    batch: Positive
    heads: Positive
    head_dim: Positive
    dtype: Word
    device: Word
    packed: bool
    backward: bool
    repeats: Positive
    cell_seconds: Amount
    methods: list[BenchedMethod]
    git_commit: str | None
    versions: dict[str, str]


@with_config(CHECKED)
class Parity(TypedDict):
    """A peer's output compared with ours, in float64: the largest error relative to the largest output.

    `apart` says how the peer's maths differs; there is no error then.
    """

    peer: Word
    ours: NotRequired[Word]
    error: NotRequired[Error]
    apart: NotRequired[Word]


@with_config(CHECKED)
class BenchRecord(TypedDict):
    """The content of the file; `whole` lists the lengths whose cells were all measured to the end."""

    schema_version: Literal[1]
    what: Literal["bench attention"]
    settings: BenchSettings
    cells: list[BenchCell]
    whole: list[Positive]
    parity: list[Parity]


BENCH_RECORD: TypeAdapter[BenchRecord] = TypeAdapter(BenchRecord)


def record_path(folder: Path, settings: BenchSettings) -> Path:
    """Return the path of the record with these settings, `FOLDER/attention-HASH.json`."""
    return folder / f"attention-{hash_of(settings)}.json"


def begin_record(path: Path, settings: BenchSettings, *, again: Collection[int] = ()) -> BenchRecord:
    """Read the record at `path` without its cells at the lengths `again`, or begin a new one if there is none."""
    if os.path.lexists(path):
        record = read_bench(path)
        record["cells"] = [cell for cell in record["cells"] if cell["length"] not in again]
        record["whole"] = [length for length in record["whole"] if length not in again]
        return record
    return {
        "schema_version": 1,
        "what": "bench attention",
        "settings": settings,
        "cells": [],
        "whole": [],
        "parity": [],
    }


def cells_at(record: BenchRecord, length: int) -> dict[str, BenchCell]:
    """Return the cells of a length by method."""
    return {cell["method"]: cell for cell in record["cells"] if cell["length"] == length}


def lengths_of(record: BenchRecord) -> list[int]:
    """Return the lengths that have cells, in growing order."""
    return sorted({cell["length"] for cell in record["cells"]})


def read_bench(path: Path) -> BenchRecord:
    """Read and check a record."""
    return checked(BENCH_RECORD, parsed_json(read_text(path), path, MEASURE_AGAIN), path, MEASURE_AGAIN)


def write_bench(path: Path, record: BenchRecord) -> None:
    """Check the record and write it atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = checked(BENCH_RECORD, record, path, MEASURE_AGAIN)
    replace_text(path, json.dumps(whole, indent=1, allow_nan=False) + "\n")
