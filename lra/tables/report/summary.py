"""The table of all accuracies at the top of a report, whose numbers lead to their runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lra.base.text import MISSING, number
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.schema import Record
from lra.tables.accuracy_table import accuracy_table, size_and_time
from lra.tables.cells import TRIED, Row, TableCell, central_values, indices_of_best, make_rows
from lra.tables.notes_on_runs import ProtocolAndSize, without_stand_ins
from lra.tables.variants import RowKey

AVERAGE, PARAMETERS, TIME = "average", "parameters", "time"  # columns behind those of the tasks, as TRIED is


class CellKey(NamedTuple):
    """Tells a cell of the summary from others: its protocol and size, the key of its row, and its task."""

    group: ProtocolAndSize
    row: RowKey
    task: str


@dataclass(frozen=True, kw_only=True)
class SummaryCell:
    """One method on one task, as the summary shows it.

    Attributes:
        of: the cell.
        is_best: whether no other method of the same protocol and size is better on this task.
        link: id of the first of its runs in the table of runs; empty for none.
    """

    of: TableCell
    is_best: bool
    link: str

    @property
    def published(self) -> str:
        """The published accuracy and the difference, `paper 37.15, -0.15`; empty if there is none to compare with."""
        if self.of.reference is None:
            return ""
        whose = "mean " if self.of.partly_converged else ""  # the accuracy shown is the median
        return f"{self.of.source} {number(self.of.reference)}, {whose}{number(self.of.difference, sign=True)}"


class SummaryRow(NamedTuple):
    """The name of a method, its cell for each task, None where it has none, and what the last columns have."""

    name: str
    cells: list[SummaryCell | None]
    last: list[str]


@dataclass(frozen=True, kw_only=True)
class SummaryTable:
    """The table: for each protocol and size a group of rows.

    The notes say what the numbers and the marks mean, how many runs were left out, and what the tests say.
    """

    tasks: tuple[str, ...]
    last_columns: tuple[str, ...]
    groups: dict[ProtocolAndSize, list[SummaryRow]]
    notes: list[str]


def summary_table(
    records_by_group: Mapping[ProtocolAndSize, list[Record]], *, reference: str, links: Mapping[CellKey, str]
) -> SummaryTable:
    """Build the summary of the records of each protocol and size.

    Runs of size=full on stand-in data are left out.

    Args:
        records_by_group: the records, in the order of the groups of rows.
        reference: the source of the published accuracies, one of `REFERENCES`.
        links: for a cell, the id of the first of its runs.
    """
    shown = _groups_without_stand_ins(records_by_group)
    tasks = in_benchmark_order(record.task for records in shown.values() for record in records)
    rows_by_group = {group: make_rows(records, reference=reference) for group, records in shown.items()}
    last_columns = _last_columns([row for rows in rows_by_group.values() for row in rows])
    groups: dict[ProtocolAndSize, list[SummaryRow]] = {}
    for group, rows in rows_by_group.items():
        best = {task: indices_of_best(central_values(rows, task)) for task in tasks}
        groups[group] = []
        for index, row in enumerate(rows):
            cells: list[SummaryCell | None] = []
            for task in tasks:
                cell, link = row.cells.get(task), links.get(CellKey(group, row.key, task), "")
                is_best = index in best[task]
                cells.append(None if cell is None else SummaryCell(of=cell, is_best=is_best, link=link))
            texts = _last_texts(row)
            groups[group].append(SummaryRow(row.name, cells, [texts[column] for column in last_columns]))
    notes = _notes(records_by_group, reference)
    return SummaryTable(tasks=tuple(tasks), last_columns=tuple(last_columns), groups=groups, notes=notes)


def _groups_without_stand_ins(
    records_by_group: Mapping[ProtocolAndSize, list[Record]],
) -> dict[ProtocolAndSize, list[Record]]:
    """Leave out runs of size=full on stand-in data, and groups that have no others."""
    shown: dict[ProtocolAndSize, list[Record]] = {}
    for group, records in records_by_group.items():
        left = without_stand_ins(records)
        if left:
            shown[group] = left
    return shown


def _last_columns(rows: Sequence[Row]) -> list[str]:
    """Name the columns behind those of the tasks, without an average or a number of trials that no row has."""
    columns = []
    if any(row.average is not None for row in rows):
        columns.append(AVERAGE)
    if any(row.tried != MISSING for row in rows):
        columns.append(TRIED)
    return [*columns, PARAMETERS, TIME]


def _last_texts(row: Row) -> dict[str, str]:
    """Write what a row has in each of the columns that can stand behind those of the tasks."""
    parameters, time = size_and_time(row)
    return {AVERAGE: number(row.average), TRIED: row.tried, PARAMETERS: parameters, TIME: time}


def _notes(records_by_group: Mapping[ProtocolAndSize, list[Record]], reference: str) -> list[str]:
    """Word the notes of the accuracy table of each protocol and size, each once; one of a single group names that."""
    notes_by_group: dict[ProtocolAndSize, list[str]] = {}
    counts: Counter[str] = Counter()
    for group, records in records_by_group.items():
        notes_by_group[group] = accuracy_table(records, reference=reference).notes
        counts.update(notes_by_group[group])
    worded = []
    for group, notes in notes_by_group.items():
        for note in notes:
            is_of_one = len(notes_by_group) > 1 and counts[note] == 1
            worded.append(f"{group}: {note}" if is_of_one else note)
    return list(dict.fromkeys(worded))
