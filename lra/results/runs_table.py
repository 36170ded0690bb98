"""The table of a report's runs: a line for each run, which a reader can sort by each column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lra.results.reference import in_order
from lra.results.task_protocol_size import Kind
from lra.results.variants import group_by_variant
from lra.runs.collect import describe, finished_at, run_key
from lra.runs.schema import Record

RUN_COLUMNS = ("task", "method", "protocol", "size", "seed", "accuracy (%)", "best dev (%)", "hours", "finished (UTC)")


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run.

    Attributes:
        cells: for each of `RUN_COLUMNS` what is shown.
        name: the run in a few words.
        record: the whole record as JSON, without the field that only programs can read.
        diagnosis: a link to the page of `lra diagnose`; empty if there is none.
    """

    cells: list[str]
    name: str
    record: str
    diagnosis: str


def run_lines(kinds: dict[Kind, list[Record]], diagnoses: Mapping[tuple[object, ...], str]) -> list[RunLine]:
    """Make the lines of some records, in the order of their kinds, tasks, methods and seeds.

    `diagnoses` has links to the pages of `lra diagnose` by the key of the run, see `run_key`.
    """
    lines = []
    for kind, records in kinds.items():
        members = [(name, record) for name, seeds in group_by_variant(records).items() for record in seeds]
        for task in in_order(record["identity"]["task"] for record in records):
            lines += [
                _line(name, kind, record, diagnoses.get(run_key(record), ""))
                for name, record in members
                if record["identity"]["task"] == task
            ]
    return lines


def _line(method: str, kind: Kind, record: Record, diagnosis: str) -> RunLine:
    identity, outcome, hours = record["identity"], record["outcome"], record["cost"]["train_seconds"] / 3600
    readable = {key: value for key, value in outcome.items() if key != "test_correct"}
    return RunLine(
        cells=[
            identity["task"],
            method,
            kind.protocol,
            kind.size,
            str(identity["seed"]),
            f"{100 * outcome['test_accuracy']:.2f}",
            f"{100 * outcome['best_dev_accuracy']:.2f}",
            f"{hours:.2f}" if hours >= 0.1 else f"{hours:.4f}",
            finished_at(record)[:16].replace("T", " "),
        ],
        name=describe(record),
        record=json.dumps({**dict(record), "outcome": readable}, indent=2),
        diagnosis=diagnosis,
    )
