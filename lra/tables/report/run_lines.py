"""The runs of a report: a line of the table of runs for each, with its record and a link to its diagnosis."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lra.runs.collection import Collection, describe, finished_at, run_key
from lra.runs.files import DIAGNOSIS_PAGE, RESULT
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.reference_curves import place_of
from lra.runs.schema import Record
from lra.tables.notes_on_runs import ProtocolAndSize
from lra.tables.report.summary import CellKey
from lra.tables.variants import group_by_variant

RUN_COLUMNS = ("task", "method", "protocol", "size", "seed", "accuracy (%)", "best dev (%)", "hours", "finished (UTC)")
FOR_PROGRAMS = "outcome.test_correct"  # the field that only programs read
LEAST_HOURS = 0.1  # with fewer, a run's hours have four digits behind the point


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run, by its name and a text for each of `RUN_COLUMNS`.

    Attributes:
        cells: the texts, those of the line's own cells.
        name: what the run is called above its record.
        cell: id of the summary's cell that the run belongs to, the same for all seeds.
        record: the run's place among published runs, if it has one; then the record, a line for each field with its
            value as JSON, without the one that only programs read; of another seed than the first of a cell what
            differs from that.
        diagnosis: a link to the page of `lra diagnose`; empty if there is none.
    """

    cells: list[str]
    name: str
    cell: str
    record: str
    diagnosis: str


def run_lines(
    records_by_group: Mapping[ProtocolAndSize, list[Record]],
    diagnoses: Mapping[tuple[object, ...], str],
    published: list[Record],
) -> tuple[list[RunLine], dict[CellKey, str]]:
    """Make the lines of some records, in the order of their groups, tasks, methods and seeds, and the ids of the cells.

    The runs of a cell, its seeds, come one after another.

    Args:
        records_by_group: the records of each protocol and size.
        diagnoses: links to the pages of `lra diagnose` by the key of the run, see `run_key`.
        published: the records with the reference seeds, among which each run is placed.
    """
    lines: list[RunLine] = []
    ids: dict[CellKey, str] = {}
    for group, records in records_by_group.items():
        tasks = in_benchmark_order(record["identity"]["task"] for record in records)
        rows = group_by_variant(records)
        for task in tasks:
            for name, members in rows.items():
                seeds = [record for record in members if record["identity"]["task"] == task]
                if not seeds:
                    continue
                cell = f"cell-{len(ids) + 1}"
                ids[CellKey(group, name, task)] = cell
                for record in seeds:
                    texts = [place_of(record, published), _record_text(record, first=seeds[0])]
                    line = RunLine(
                        cells=_column_texts(name, record),
                        name=describe(record),
                        cell=cell,
                        record="\n".join(filter(None, texts)),
                        diagnosis=diagnoses.get(run_key(record), ""),
                    )
                    lines.append(line)
    return lines, ids


def diagnosis_links(collection: Collection, folder: Path) -> dict[tuple[object, ...], str]:
    """Find the pages of `lra diagnose` beside the records: for each run's key a link from a page in `folder`."""
    links: dict[tuple[object, ...], str] = {}
    for record, source in zip(collection.records, collection.sources, strict=True):
        page = source.with_name(DIAGNOSIS_PAGE)
        if source.name == RESULT and page.is_file():
            links[run_key(record)] = quote(os.path.relpath(page, folder))
    return links


def _column_texts(method: str, record: Record) -> list[str]:
    """Write what a run has in each of `RUN_COLUMNS`."""
    identity, outcome = record["identity"], record["outcome"]
    hours = record["cost"]["train_seconds"] / 3600
    return [
        identity["task"],
        method,
        identity["protocol"],
        identity["size"],
        str(identity["seed"]),
        f"{100 * outcome['test_accuracy']:.2f}",
        f"{100 * outcome['best_dev_accuracy']:.2f}",
        f"{hours:.2f}" if hours >= LEAST_HOURS else f"{hours:.4f}",
        finished_at(record)[:16].replace("T", " "),
    ]


def _record_text(record: Record, *, first: Record) -> str:
    """Write a record as lines, in short if it is not the `first` of its cell: what they share is there."""
    lines = _field_lines(record)
    if record is first:
        return "\n".join(lines)
    shared = _field_lines(first)
    head = f"As that of seed {first['identity']['seed']}, but for:"
    return "\n".join([head, *(line for line in lines if line not in shared)])


def _field_lines(record: Record) -> list[str]:
    """Write each field of a record as its dotted key and its value, but for the one that only programs read."""
    groups: dict[str, object] = {**record}
    fields: dict[str, object] = {}
    for group, inner in groups.items():
        if isinstance(inner, dict):
            fields |= {f"{group}.{key}": value for key, value in inner.items()}
        else:
            fields[group] = inner
    return [f"{key}: {json.dumps(value)}" for key, value in fields.items() if key != FOR_PROGRAMS]
