"""Rows of tables, and their cells: statistics over the seeds of one method on one task."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lra.base.spread import binomial_error, sample_std
from lra.base.text import MISSING
from lra.runs.convergence import central_value, converged, on_both_sides, seeds_text
from lra.runs.published_numbers import (
    TASKS,
    TOLERANCE_POINTS,
    deviations_from_paper,
    in_benchmark_order,
    paper_accuracy,
    published_accuracy_for,
    published_in_family,
)
from lra.runs.schema import Record
from lra.tables.notes_on_runs import MARKS
from lra.tables.variants import RowKey, group_by_key, row_names

TRIED = "configurations tried"  # the column of `tried`


class TableCell:
    """One method on one task: the records of its seeds, and what tables say of them. Accuracies are in percent.

    Args:
        records: runs that differ by the seed alone.
        reference: the source of the published accuracy, one of `REFERENCES`.
    """

    def __init__(self, records: Sequence[Record], reference: str = "paper"):
        self.records, self.source = list(records), reference

    @property
    def task(self) -> str:
        """The task."""
        return self.records[0].task

    @cached_property
    def accuracies(self) -> tuple[float, ...]:
        """The test accuracy of each seed."""
        return tuple(100 * record.test_accuracy for record in self.records)

    @cached_property
    def mean(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.accuracies)

    @cached_property
    def std(self) -> float | None:
        """The standard deviation over seeds; None for one seed."""
        return sample_std(self.accuracies)

    @property
    def noise(self) -> float:
        """The binomial standard error of one test."""
        return 100 * binomial_error(self.mean / 100, self.records[0].outcome["test_examples"])

    @cached_property
    def reference(self) -> float | None:
        """The published accuracy; None if there is none, or if these runs may not be compared with it."""
        published = {published_accuracy_for(record, self.source) for record in self.records}
        return published.pop() if len(published) == 1 else None

    @property
    def reference_std(self) -> float | None:
        """The standard deviation of the published accuracy over seeds, if one is published."""
        return None if self.reference is None else published_in_family(self.records[0], self.source)[1]

    @cached_property
    def deviations(self) -> tuple[str, ...]:
        """How the runs differ from the paper's run, if the paper has one for this cell."""
        if self.source != "paper" or paper_accuracy(self.records[0].method, self.task) is None:
            return ()
        return tuple(next(filter(None, map(deviations_from_paper, self.records)), []))

    @property
    def inside(self) -> bool | None:
        """Whether the mean is within the tolerance around the paper's accuracy; None if it is not compared with it."""
        tolerance = TOLERANCE_POINTS.get(self.task) if self.source == "paper" else None
        if self.reference is None or tolerance is None:
            return None
        return abs(self.mean - self.reference) <= tolerance

    @cached_property
    def converged(self) -> int:
        """Number of seeds that converged, by the rule of `lra.runs.convergence`."""
        return sum(map(converged, self.records))

    @property
    def parameters(self) -> int:
        """Number of the model's parameters."""
        return self.records[0].cost["parameters"]

    @property
    def hours(self) -> float:
        """Training of the fastest seed, because other work on the machine can only slow a run."""
        return min(record.train_seconds for record in self.records) / 3600

    @property
    def steps_per_second(self) -> float:
        """Speed of the fastest seed."""
        return max(record.cost["steps_per_second"] for record in self.records)

    @property
    def peak_memory_bytes(self) -> float:
        """Mean over seeds."""
        return statistics.fmean(record.cost["peak_memory_bytes"] for record in self.records)

    @property
    def origins(self) -> frozenset[str]:
        """Origins of the data, such as `official`."""
        return frozenset(record.data_origin for record in self.records)

    @property
    def tried(self) -> int | None:
        """Number of configurations among which a search has chosen this one; None if there was no search."""
        searches = {record.tuned["tried"] for record in self.records if record.tuned is not None}
        return searches.pop() if len(searches) == 1 else None

    @property
    def count(self) -> int:
        """Number of seeds."""
        return len(self.accuracies)

    @property
    def over_seeds(self) -> dict[str, object]:
        """What a row of a CSV file has of the seeds: their number, mean, standard deviation, median and ends."""
        return {
            "count": self.count,
            "mean": self.mean,
            "std": self.std,
            "converged": self.converged,
            "median": self.median,
            "lowest": min(self.accuracies),
            "highest": max(self.accuracies),
        }

    def __str__(self) -> str:
        """`37.00 ± 1.00 (3)`, or `36.85 [18.20, 37.75] (5)` with some seeds converged; `cell_note` explains both."""
        return f"{seeds_text(self.accuracies, self.converged)} ({self.count})"

    @property
    def with_origin_marks(self) -> str:
        """The cell with the marks of its data, such as `37.00 ± 1.00 (3)‡`."""
        return str(self) + "".join(sorted(MARKS[origin] for origin in self.origins))

    @property
    def partly_converged(self) -> bool:
        """Whether some seeds converged and others did not, so that their mean is near no seed."""
        return on_both_sides(self.converged, self.count)

    @property
    def median(self) -> float:
        """Median over seeds."""
        return statistics.median(self.accuracies)

    @property
    def central_value(self) -> float:
        """The number that stands for the seeds: their mean, or the median where only some converged."""
        return central_value(self.accuracies, self.converged)

    @property
    def verdict(self) -> str:
        """`within` or `outside` the tolerance around the paper's accuracy; empty if no comparison is made."""
        return "" if self.inside is None else "within" if self.inside else "outside"

    @property
    def difference(self) -> float | None:
        """Mean minus reference, in points."""
        return None if self.reference is None else self.mean - self.reference


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: runs of one key, see `lra.tables.variants`.

    Attributes:
        key: what its runs share.
        name: for display, different from that of other rows of the table.
        cells: by task, in the order of the table, of each that has a record.
    """

    key: RowKey
    name: str
    cells: Mapping[str, TableCell]

    @property
    def method(self) -> str:
        """The attention or mixer."""
        return self.key.method

    @property
    def records(self) -> list[Record]:
        """The records of all its cells."""
        return [record for cell in self.cells.values() for record in cell.records]

    @property
    def tried(self) -> str:
        """Numbers of configurations that were tried for its cells, see `tried_text`."""
        return tried_text(self.cells.values())

    @property
    def average(self) -> float | None:
        """Mean of the five tasks' numbers that the table shows, in percent; None unless each of them has one."""
        shown = [cell.central_value for cell in self._of_five]
        return statistics.fmean(shown) if len(shown) == len(TASKS) else None

    @property
    def average_reference(self) -> float | None:
        """Mean of the five published accuracies in percent; None unless each of the five cells has one."""
        references = [cell.reference for cell in self._of_five if cell.reference is not None]
        return statistics.fmean(references) if len(references) == len(TASKS) else None

    @property
    def _of_five(self) -> list[TableCell]:
        return [self.cells[task] for task in TASKS if task in self.cells]


def tried_text(cells: Iterable[TableCell]) -> str:
    """Numbers of configurations that were tried for some cells, each once; a dash without a search."""
    numbers = {cell.tried for cell in cells if cell.tried is not None}
    return ", ".join(map(str, sorted(numbers))) or MISSING


def cell_note(cells: Iterable[TableCell]) -> str:
    """Word what the numbers of some cells are: a caption for their table."""
    note = "m ± s (n): mean and standard deviation over n seeds"
    if any(cell.partly_converged for cell in cells):
        note += "; m [low, high] (n): median and range, where only some seeds converged"
    return note


def central_note(cells: Iterable[TableCell]) -> str:
    """Word which number stands for the seeds, for the caption of a figure of some cells."""
    mean = "mean over the seeds"
    return f"{mean}, or median where only some converged" if any(cell.partly_converged for cell in cells) else mean


def central_values(rows: Iterable[Row], task: str) -> list[float | None]:
    """The numbers that stand for the seeds of each row on a task; None for a cell that is missing."""
    return [None if cell is None else cell.central_value for cell in (row.cells.get(task) for row in rows)]


def indices_of_best(values: Sequence[float | None], *, digits: int = 2) -> list[int]:
    """The places of the highest value as tables show it, several if they are equal; none of one value alone."""
    shown = [None if value is None else round(value, digits) for value in values]
    known = [value for value in shown if value is not None]
    return [index for index, value in enumerate(shown) if len(known) > 1 and value == max(known)]


def make_rows(records: Iterable[Record], *, reference: str = "paper", ignored: tuple[str, ...] = ()) -> list[Row]:
    """Make the rows of a table of some records, in the order of their names.

    `reference` is the source of the published accuracies; `ignored` are options that are not compared, see
    `group_by_key`.
    """
    groups = group_by_key(records, ignored=ignored)
    rows = []
    for key, name in row_names(groups).items():
        by_task: dict[str, list[Record]] = defaultdict(list)
        for record in groups[key]:
            by_task[record.task].append(record)
        cells = {task: TableCell(by_task[task], reference) for task in in_benchmark_order(by_task)}
        rows.append(Row(key=key, name=name, cells=cells))
    return rows
