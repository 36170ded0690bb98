"""Compute the cells of the accuracy table: statistics over the seeds of one variant on one task."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lra.base.spread import binomial_error, sample_std
from lra.base.text import MISSING
from lra.runs.convergence import central_value, converged, on_both_sides, seeds_text
from lra.runs.published_numbers import (
    TASKS,
    TOLERANCE_POINTS,
    deviations_from_paper,
    paper_accuracy,
    published_accuracy_for,
    published_in_family,
)
from lra.runs.schema import Record
from lra.tables.notes_on_runs import MARKS
from lra.tables.variants import group_by_variant

TRIED = "configurations tried"  # the column of `tried`


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """One variant on one task; accuracies, of each seed and their mean and standard deviation, in percent.

    Attributes:
        std: None for one seed.
        noise: binomial standard error of one test.
        reference: the published accuracy; None if there is none, or if these runs may not be compared with it.
        reference_std: its standard deviation over seeds, if one is published.
        deviations: how the runs differ from the paper's run, if the paper has one for this cell.
        inside: whether the mean is within the tolerance around the paper's accuracy; None if it is not compared with
            it.
        converged: number of seeds that converged, by the rule of `lra.runs.convergence`.
        hours, steps_per_second: training of the fastest seed, because other work on the machine can only slow a run.
        peak_memory_bytes: mean over seeds.
        origins: origins of the data, such as `official`.
        tried: number of configurations among which a search has chosen this one; None if there was no search.
    """

    accuracies: tuple[float, ...]
    mean: float
    std: float | None
    noise: float
    reference: float | None
    reference_std: float | None
    deviations: tuple[str, ...]
    inside: bool | None
    converged: int
    parameters: int
    hours: float
    steps_per_second: float
    peak_memory_bytes: float
    origins: frozenset[str]
    tried: int | None

    @property
    def count(self) -> int:
        """Number of seeds."""
        return len(self.accuracies)

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
    """One variant on every task."""

    name: str
    cells: Mapping[str, TableCell | None]

    @property
    def filled_cells(self) -> list[TableCell]:
        """The cells that have a record."""
        return [cell for cell in self.cells.values() if cell is not None]

    @property
    def tried(self) -> str:
        """Numbers of configurations that were tried for its cells, each once; a dash without a search."""
        numbers = {cell.tried for cell in self.filled_cells if cell.tried is not None}
        return ", ".join(map(str, sorted(numbers))) or MISSING

    @property
    def average(self) -> float | None:
        """Mean of the five tasks' numbers that the table shows, in percent; None unless each of them has one."""
        shown = [cell.central_value for cell in self._of_five if cell is not None]
        return statistics.fmean(shown) if len(shown) == len(TASKS) else None

    @property
    def average_reference(self) -> float | None:
        """Mean of the five published accuracies in percent; None unless each of the five cells has one."""
        references = [cell.reference for cell in self._of_five if cell is not None and cell.reference is not None]
        return statistics.fmean(references) if len(references) == len(TASKS) else None

    @property
    def _of_five(self) -> list[TableCell | None]:
        return [self.cells.get(task) for task in TASKS]


def cell_note(cells: Iterable[TableCell]) -> str:
    """Word what the numbers of some cells are: a caption for their table."""
    note = "m ± s (n): mean and standard deviation over n seeds"
    if any(cell.partly_converged for cell in cells):
        note += "; m [low, high] (n): median and range, where only some seeds converged"
    return note


def central_values(rows: Iterable[Row], task: str) -> list[float | None]:
    """The numbers that stand for the seeds of each row on a task; None for a cell that is missing."""
    return [None if cell is None else cell.central_value for cell in (row.cells[task] for row in rows)]


def indices_of_best(values: Sequence[float | None], *, digits: int = 2) -> list[int]:
    """The places of the highest value as tables show it, several if they are equal; none of one value alone."""
    shown = [None if value is None else round(value, digits) for value in values]
    known = [value for value in shown if value is not None]
    return [index for index, value in enumerate(shown) if len(known) > 1 and value == max(known)]


def make_rows(records: list[Record], *, reference: str, tasks: tuple[str, ...] = TASKS) -> list[Row]:
    """Make a row for every variant, with a cell (or None) for every task."""
    rows = []
    for name, members in group_by_variant(records).items():
        by_task = {task: [record for record in members if record.task == task] for task in tasks}
        cells = {task: make_cell(of_task, reference) if of_task else None for task, of_task in by_task.items()}
        rows.append(Row(name=name, cells=cells))
    return rows


def make_cell(records: list[Record], reference: str) -> TableCell:
    """Make the cell of records that differ by the seed alone; `reference` is one of `REFERENCES`."""
    outcomes = [record.outcome for record in records]
    costs = [record.cost for record in records]
    accuracies = [100 * outcome["test_accuracy"] for outcome in outcomes]
    mean = statistics.fmean(accuracies)
    identity = records[0].identity
    references = {published_accuracy_for(record, reference) for record in records}
    reference_accuracy = references.pop() if len(references) == 1 else None
    deviations = next(filter(None, map(deviations_from_paper, records)), []) if reference == "paper" else []
    searches = {record.tuned["tried"] for record in records if record.tuned is not None}
    tolerance = TOLERANCE_POINTS.get(identity["task"]) if reference == "paper" else None
    return TableCell(
        accuracies=tuple(accuracies),
        mean=mean,
        std=sample_std(accuracies),
        noise=100 * binomial_error(mean / 100, outcomes[0]["test_examples"]),
        reference=reference_accuracy,
        reference_std=None if reference_accuracy is None else published_in_family(records[0], reference)[1],
        deviations=tuple(deviations) if paper_accuracy(identity["attention"], identity["task"]) is not None else (),
        inside=None if reference_accuracy is None or tolerance is None else abs(mean - reference_accuracy) <= tolerance,
        converged=sum(map(converged, records)),
        parameters=costs[0]["parameters"],
        hours=min(cost["train_seconds"] for cost in costs) / 3600,
        steps_per_second=max(cost["steps_per_second"] for cost in costs),
        peak_memory_bytes=statistics.fmean(cost["peak_memory_bytes"] for cost in costs),
        origins=frozenset(record.data_origin for record in records),
        tried=searches.pop() if len(searches) == 1 else None,
    )
