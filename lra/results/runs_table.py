"""The table of a report's runs: a line for each run, which a reader can sort by each column."""

from __future__ import annotations

import json
from dataclasses import dataclass

from lra.results.collect import describe, finished_at
from lra.results.kinds import Kind
from lra.results.reference import in_order
from lra.results.schema import Record
from lra.results.variants import group_by_variant

RUN_COLUMNS = ("task", "method", "protocol", "size", "seed", "accuracy (%)", "best dev (%)", "hours", "finished (UTC)")


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run.

    Attributes:
        cells: for each of `RUN_COLUMNS` what is shown.
        name: the run in a few words.
        record: the whole record as JSON, without the field that only programs can read.
    """

    cells: list[str]
    name: str
    record: str


def run_lines(kinds: dict[Kind, list[Record]]) -> list[RunLine]:
    """Make the lines of some records, in the order of their kinds, tasks, methods and seeds."""
    lines = []
    for kind, records in kinds.items():
        members = [(name, record) for name, seeds in group_by_variant(records).items() for record in seeds]
        for task in in_order(record["identity"]["task"] for record in records):
            lines += [_line(name, kind, record) for name, record in members if record["identity"]["task"] == task]
    return lines


def _line(method: str, kind: Kind, record: Record) -> RunLine:
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
    )
