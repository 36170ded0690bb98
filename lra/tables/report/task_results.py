"""What a report compares: the records of one task, of one protocol and size, as the contenders of a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lra.runs.published_numbers import in_benchmark_order, paper_attention
from lra.runs.schema import Record
from lra.tables.cells import make_rows
from lra.tables.comparison import Contender, baseline_row, contenders, rows_of
from lra.tables.notes_on_runs import ProtocolAndSize
from lra.tables.variants import RowKey

BASELINE = "nystrom"


@dataclass(frozen=True, kw_only=True)
class TaskResults:
    """One task's records of one protocol and size; the first of `compared` is the baseline of the others."""

    group: ProtocolAndSize
    task: str
    records: list[Record]
    compared: list[Contender]

    @property
    def baseline(self) -> Contender:
        """The row with which the others are compared."""
        return self.compared[0]

    @property
    def others(self) -> Sequence[Contender]:
        """All rows but the baseline."""
        return self.compared[1:]


def tasks_in_order(records_by_group: Mapping[ProtocolAndSize, list[Record]]) -> list[tuple[ProtocolAndSize, str]]:
    """List the tasks of each protocol and size, in the order of the page."""
    return [
        (group, task)
        for group, records in records_by_group.items()
        for task in in_benchmark_order(record.task for record in records)
    ]


def task_results(group: ProtocolAndSize, task: str, records: Sequence[Record]) -> TaskResults:
    """Compare the rows of one task with that of Nyström attention, or with the first where there is none.

    Args:
        group: protocol and size of the records.
        task: the task whose records are compared.
        records: those of all tasks; there is one of the task at least.
    """
    of_task = [record for record in records if record.task == task]
    return TaskResults(group=group, task=task, records=of_task, compared=contenders(of_task, _baseline(of_task)))


def _baseline(records: list[Record]) -> RowKey | None:
    """Find the row of Nyström attention that the others are compared with; None if there is none."""
    row = baseline_row(rows_of(BASELINE, make_rows(records)), {"attention": paper_attention(BASELINE)})
    return None if row is None else row.key
