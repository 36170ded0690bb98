"""The summary and the runs of the report of a run group, as the template report.html shows them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lra.results.accuracy_table import accuracy_table, size_and_hours
from lra.results.cells import TRIED, TableCell, central_values, make_rows, places_of_best
from lra.results.conditions import ProtocolAndSize, without_stand_ins
from lra.results.reference import in_benchmark_order
from lra.results.tables import MISSING, number
from lra.results.variants import group_by_variant
from lra.runs.collect import describe, finished_at, run_key
from lra.runs.schema import Record

Place = tuple[ProtocolAndSize, str, str]  # … with the row's name and the task
RUN_COLUMNS = ("task", "method", "protocol", "size", "seed", "accuracy (%)", "best dev (%)", "hours", "finished (UTC)")


@dataclass(frozen=True, kw_only=True)
class SummaryCell:
    """One method on one task, or one of the last columns: a cell of the table with its marks, `37.00 ± 1.00 (3)‡`.

    Attributes:
        published: the published accuracy and the difference; empty if there is none to compare with.
        verdict: `within` or `outside` the tolerance around the paper's accuracy; empty if it is not compared with it.
        is_best: whether no other method of the same protocol and size is better on this task.
        link: id of the first of its runs in the table of runs; empty for none.
    """

    text: str
    published: str = ""
    verdict: str = ""
    is_best: bool = False
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class SummaryTable:
    """The table: for each protocol and size a group of rows, each a method's name with one cell for each column.

    The notes say what the numbers and the marks mean, how many runs were left out, and what the tests say.
    """

    columns: tuple[str, ...]
    groups: dict[ProtocolAndSize, list[tuple[str, list[SummaryCell]]]]
    notes: list[str]


def summary_table(
    records_by_group: Mapping[ProtocolAndSize, list[Record]], *, reference: str, links: Mapping[Place, str]
) -> SummaryTable:
    """Build the summary of the records of each protocol and size, with published values of the source `reference`.

    Runs of size=full on stand-in data are left out. `links` has, for a protocol and size, a row's name and a task, the
    id of the first of these runs.
    """
    shown = {group: left for group, records in records_by_group.items() if (left := without_stand_ins(records))}
    tasks = in_benchmark_order(record["identity"]["task"] for records in shown.values() for record in records)
    rows = {group: make_rows(records, reference=reference, tasks=tasks) for group, records in shown.items()}
    has_tried = any(row.tried != MISSING for of_group in rows.values() for row in of_group)
    has_average = any(row.average is not None for of_group in rows.values() for row in of_group)
    tables = {group: accuracy_table(records, reference=reference) for group, records in records_by_group.items()}
    notes = [(f"{group}: " * (len(tables) > 1), note) for group, table in tables.items() for note in table.notes]
    texts = [note for _, note in notes]
    groups: dict[ProtocolAndSize, list[tuple[str, list[SummaryCell]]]] = {}
    for group, of_group in rows.items():
        best = {task: places_of_best(central_values(of_group, task)) for task in tasks}
        groups[group] = []
        for place, row in enumerate(of_group):
            cells = [
                _summary_cell(
                    row.cells[task], reference, is_best=place in best[task], link=links.get((group, row.name, task), "")
                )
                for task in tasks
            ]
            rest = [*[number(row.average)] * has_average, *[row.tried] * has_tried, *size_and_hours(row)]
            groups[group].append((row.name, [*cells, *(SummaryCell(text=text) for text in rest)]))
    return SummaryTable(
        columns=(*tasks, *["average"] * has_average, *[TRIED] * has_tried, "parameters", "hours"),
        groups=groups,
        notes=list(dict.fromkeys(note if texts.count(note) > 1 else group + note for group, note in notes)),
    )


def _summary_cell(cell: TableCell | None, reference: str, *, is_best: bool, link: str) -> SummaryCell:
    if cell is None:
        return SummaryCell(text=MISSING)
    published = ""
    if cell.reference is not None:
        whose = "mean " if cell.partly_converged else ""  # the accuracy shown is the median
        published = f"{reference} {number(cell.reference)}, {whose}{number(cell.difference, sign=True)}"
    return SummaryCell(
        text=cell.with_origin_marks, published=published, verdict=cell.verdict, is_best=is_best, link=link
    )


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run, by its name and a text for each of `RUN_COLUMNS`.

    Attributes:
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
    records_by_group: dict[ProtocolAndSize, list[Record]],
    diagnoses: Mapping[tuple[object, ...], str],
    places: Mapping[tuple[object, ...], str],
) -> tuple[list[RunLine], dict[tuple[ProtocolAndSize, str, str], str]]:
    """Make the lines of some records, in the order of their groups, tasks, methods and seeds, and the ids of the cells.

    The runs of a cell, its seeds, come one after another. `diagnoses` has links to the pages of `lra diagnose` by the
    key of the run, see `run_key`; `places` its place among its reference seeds.
    """
    lines: list[RunLine] = []
    cells: dict[tuple[ProtocolAndSize, str, str], str] = {}
    firsts: dict[str, Record] = {}
    for group, records in records_by_group.items():
        members = [(name, record) for name, seeds in group_by_variant(records).items() for record in seeds]
        for task in in_benchmark_order(record["identity"]["task"] for record in records):
            for name, record in members:
                if record["identity"]["task"] == task:
                    cell = cells.setdefault((group, name, task), f"cell-{len(cells) + 1}")
                    text = _readable(record, firsts.setdefault(cell, record))
                    text = "\n".join(filter(None, [places.get(run_key(record), ""), text]))
                    lines.append(_line(name, group, record, cell, text, diagnoses.get(run_key(record), "")))
    return lines, cells


def _line(method: str, group: ProtocolAndSize, record: Record, cell: str, text: str, diagnosis: str) -> RunLine:
    identity, outcome, hours = record["identity"], record["outcome"], record["cost"]["train_seconds"] / 3600
    return RunLine(
        cells=[
            identity["task"],
            method,
            group.protocol,
            group.size,
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
    fields, shared = _fields(record), _fields(first) if record is not first else []
    head = [f"As that of seed {first['identity']['seed']}, but for:"] if shared else []
    return "\n".join([*head, *(line for line in fields if line not in shared)])


def _fields(record: Record) -> list[str]:
    groups: dict[str, object] = {**record}
    fields = {
        f"{group}.{key}": value
        for group, inner in groups.items()
        for key, value in (inner.items() if isinstance(inner, dict) else [("", inner)])
    }
    readable = {key.removesuffix("."): value for key, value in fields.items() if key != "outcome.test_correct"}
    return [f"{key}: {json.dumps(value)}" for key, value in readable.items()]
