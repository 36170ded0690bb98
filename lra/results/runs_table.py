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
        cell: id of the summary's cell that the run belongs to, the same for all seeds.
        record: the record, a line for each field with its value as JSON, without the one that only programs read; of
            another seed than the first of a cell what differs from that.
        diagnosis: a link to the page of `lra diagnose`; empty if there is none.
    """

    cells: list[str]
    name: str
    cell: str
    record: str
    diagnosis: str


def run_lines(
    kinds: dict[Kind, list[Record]], diagnoses: Mapping[tuple[object, ...], str]
) -> tuple[list[RunLine], dict[tuple[Kind, str, str], str]]:
    """Make the lines of some records, in the order of their kinds, tasks, methods and seeds, and the ids of the cells.

    The runs of a cell, its seeds, come one after another. `diagnoses` has links to the pages of `lra diagnose` by the
    key of the run, see `run_key`.
    """
    lines: list[RunLine] = []
    cells: dict[tuple[Kind, str, str], str] = {}
    firsts: dict[str, Record] = {}
    for kind, records in kinds.items():
        members = [(name, record) for name, seeds in group_by_variant(records).items() for record in seeds]
        for task in in_order(record["identity"]["task"] for record in records):
            for name, record in members:
                if record["identity"]["task"] == task:
                    cell = cells.setdefault((kind, name, task), f"cell-{len(cells) + 1}")
                    text = _readable(record, firsts.setdefault(cell, record))
                    lines.append(_line(name, kind, record, cell, text, diagnoses.get(run_key(record), "")))
    return lines, cells


def _line(method: str, kind: Kind, record: Record, cell: str, text: str, diagnosis: str) -> RunLine:
    identity, outcome, hours = record["identity"], record["outcome"], record["cost"]["train_seconds"] / 3600
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
        cell=cell,
        record=text,
        diagnosis=diagnosis,
    )


def _readable(record: Record, first: Record) -> str:
    """Write a record as lines, in short where it is another seed of the first of its cell: what they share is there."""
    mine, shared = _fields(record), _fields(first) if record is not first else []
    head = [f"As that of seed {first['identity']['seed']}, but for:"] if shared else []
    return "\n".join([*head, *(line for line in mine if line not in shared)])


def _fields(record: Record) -> list[str]:
    groups: dict[str, object] = {**record}
    fields = {
        f"{group}.{key}": value
        for group, inner in groups.items()
        for key, value in (inner.items() if isinstance(inner, dict) else [("", inner)])
    }
    readable = {key.removesuffix("."): value for key, value in fields.items() if key != "outcome.test_correct"}
    return [f"{key}: {json.dumps(value)}" for key, value in readable.items()]
