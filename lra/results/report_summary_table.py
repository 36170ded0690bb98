"""The headline of a report: one table with the accuracies of all methods on all tasks, beside the published ones."""

from __future__ import annotations

from dataclasses import dataclass

from lra.results.cells import Row, TableCell, cell_note, make_rows
from lra.results.data_origin_marks import marked, origin_notes, without_stand_ins
from lra.results.reference import in_order
from lra.results.tables import MISSING, number
from lra.results.task_protocol_size import Kind
from lra.runs.schema import Record


@dataclass(frozen=True, kw_only=True)
class HeadlineCell:
    """One method on one task.

    Attributes:
        accuracy: a cell of the table with its marks, such as `37.00 ± 1.00 (3)‡`.
        beside: the published accuracy and the difference; empty if there is none to compare with.
        verdict: `within` or `outside` the tolerance around the paper's accuracy; empty if it is not compared with it.
    """

    accuracy: str
    beside: str = ""
    verdict: str = ""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The table: a group of rows for each kind of runs.

    Attributes:
        tasks: the columns: only tasks that have a record.
        groups: for each kind, each method's name with one cell for each task.
        notes: what the numbers and the marks mean, and how many runs were left out.
    """

    tasks: tuple[str, ...]
    groups: dict[Kind, list[tuple[str, list[HeadlineCell]]]]
    notes: list[str]


def headline(kinds: dict[Kind, list[Record]], *, reference: str) -> Headline:
    """Build the headline of some records. Runs of size=full on stand-in data are left out.

    Args:
        kinds: the records by kind, in the order of the groups.
        reference: source of the published values, one of `REFERENCES`.
    """
    shown = {kind: left for kind, records in kinds.items() if (left := without_stand_ins(records))}
    every = [record for records in shown.values() for record in records]
    tasks = in_order(record["identity"]["task"] for record in every)
    groups = {kind: make_rows(records, reference=reference, tasks=tasks) for kind, records in shown.items()}
    return Headline(
        tasks=tasks,
        groups={kind: [_row(row, reference) for row in rows] for kind, rows in groups.items()},
        notes=[
            f"{cell_note(cell for rows in groups.values() for row in rows for cell in row.cells.values())}.",
            "within, outside: the tolerance around the paper's value.",
            *origin_notes(every, left_out=sum(map(len, kinds.values())) - len(every)),
        ],
    )


def _row(row: Row, reference: str) -> tuple[str, list[HeadlineCell]]:
    return row.name, [_cell(cell, reference) for cell in row.cells.values()]


def _cell(cell: TableCell | None, reference: str) -> HeadlineCell:
    if cell is None:
        return HeadlineCell(accuracy=MISSING)
    if cell.reference is None:
        return HeadlineCell(accuracy=marked(cell))
    whose = "mean " if cell.of_two_kinds else ""  # the accuracy shown is the median
    beside = f"{reference} {number(cell.reference)}, {whose}{number(cell.difference, sign=True)}"
    return HeadlineCell(accuracy=marked(cell), beside=beside, verdict=cell.verdict)
