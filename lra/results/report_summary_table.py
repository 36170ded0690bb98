"""The summary of a report: one table with the accuracies of all methods on all tasks, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lra.results.accuracy_table import accuracy_table, size_and_hours
from lra.results.cells import Row, TableCell, best_places, make_rows, middles
from lra.results.data_origin_marks import marked, without_stand_ins
from lra.results.reference import in_order
from lra.results.tables import MISSING, number
from lra.results.task_protocol_size import Kind
from lra.runs.schema import Record

Place = tuple[Kind, str, str]  # kind, row's name, task


@dataclass(frozen=True, kw_only=True)
class SummaryCell:
    """One method on one task, or one of the last columns.

    Attributes:
        text: a cell of the table with its marks, such as `37.00 ± 1.00 (3)‡`.
        published: the published accuracy and the difference; empty if there is none to compare with.
        verdict: `within` or `outside` the tolerance around the paper's accuracy; empty if it is not compared with it.
        is_best: whether no other method of the same kind is better on this task.
        link: id of the first of its runs in the table of runs; empty for none.
    """

    text: str
    published: str = ""
    verdict: str = ""
    is_best: bool = False
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class SummaryTable:
    """The table: a group of rows for each kind of runs.

    Attributes:
        columns: the tasks that have a record, and what else a row has.
        groups: for each kind, each method's name with one cell for each column.
        notes: what the numbers and the marks mean, how many runs were left out, and what the tests say.
    """

    columns: tuple[str, ...]
    groups: dict[Kind, list[tuple[str, list[SummaryCell]]]]
    notes: list[str]


def summary_table(
    kinds: Mapping[Kind, list[Record]], *, reference: str, links: Mapping[Place, str] | None = None
) -> SummaryTable:
    """Build the summary of some records. Runs of size=full on stand-in data are left out.

    Args:
        kinds: the records by kind, in the order of the groups.
        reference: source of the published values, one of `REFERENCES`.
        links: for a kind, a row's name and a task, the id of the first of these runs.
    """
    shown = {kind: left for kind, records in kinds.items() if (left := without_stand_ins(records))}
    tasks = in_order(record["identity"]["task"] for records in shown.values() for record in records)
    rows = {kind: make_rows(records, reference=reference, tasks=tasks) for kind, records in shown.items()}
    has_average = any(row.average is not None for group in rows.values() for row in group)
    tables = {kind: accuracy_table(records, reference=reference) for kind, records in kinds.items()}
    notes = [(f"{kind}: " * (len(tables) > 1), note) for kind, table in tables.items() for note in table.notes]
    texts = [note for _, note in notes]
    return SummaryTable(
        columns=(*tasks, *["average"] * has_average, "parameters", "hours"),
        groups={
            kind: [
                (row.name, [*cells, *[SummaryCell(text=number(row.average))] * has_average, *_cost(row)])
                for row, cells in zip(group, _cells(kind, group, tasks, reference, links or {}), strict=True)
            ]
            for kind, group in rows.items()
        },
        notes=list(dict.fromkeys(note if texts.count(note) > 1 else kind + note for kind, note in notes)),
    )


def _cost(row: Row) -> list[SummaryCell]:
    return [SummaryCell(text=text) for text in size_and_hours(row)]


def _cells(
    kind: Kind, rows: list[Row], tasks: tuple[str, ...], reference: str, links: Mapping[Place, str]
) -> list[list[SummaryCell]]:
    best = {task: best_places(middles(rows, task)) for task in tasks}
    return [
        [
            _cell(row.cells[task], reference, is_best=place in best[task], link=links.get((kind, row.name, task), ""))
            for task in tasks
        ]
        for place, row in enumerate(rows)
    ]


def _cell(cell: TableCell | None, reference: str, *, is_best: bool, link: str) -> SummaryCell:
    if cell is None:
        return SummaryCell(text=MISSING)
    published = ""
    if cell.reference is not None:
        whose = "mean " if cell.of_two_kinds else ""  # the accuracy shown is the median
        published = f"{reference} {number(cell.reference)}, {whose}{number(cell.difference, sign=True)}"
    return SummaryCell(text=marked(cell), published=published, verdict=cell.verdict, is_best=is_best, link=link)
