"""Build the paper's table with measured accuracies beside the published ones."""

from collections.abc import Iterable

from lra.base.text import MISSING, mean_and_std, number, time_text
from lra.runs.convergence import convergence_rule
from lra.runs.published_numbers import SOURCES, TASKS, TOLERANCE_POINTS, in_benchmark_order, shorten
from lra.runs.schema import Record, method_column
from lra.tables.cells import TRIED, Row, TableCell, cell_note, central_values, indices_of_best, make_rows
from lra.tables.notes_on_runs import (
    origin_notes,
    precisions,
    protocol_steps_and_size,
    search_notes,
    stopped_notes,
    unrecorded_notes,
    without_stand_ins,
)
from lra.tables.statistics.estimators import LEAST_SEEDS_FOR_T
from lra.tables.statistics.significance import RULE
from lra.tables.task_statistics import above_no_attention, agreement_by_task, separation_by_task
from lra.terminal.text_table import TextTable

MOST_REASONS = 3  # number of deviations that a note lists; format=csv has all of them


def accuracy_table(records: list[Record], *, reference: str, listed_tasks: Iterable[str] = TASKS) -> TextTable:
    """Build the table: a row for each variant, a column for each task.

    Below a variant's accuracies stand the published values, of the source `reference`, and the differences. Runs of
    size=full on stand-in data are left out. `listed_tasks` have a column even without a record; the average is over the
    benchmark's five.
    """
    shown = without_stand_ins(records)
    tasks = in_benchmark_order([*listed_tasks, *(record.task for record in shown)])
    rows = make_rows(shown, reference=reference)
    head = method_column(shown)
    lines: list[list[str]] = []
    starts: list[int] = []  # of each variant's own line among all
    for row in rows:
        starts.append(len(lines))
        lines += _lines(row, tasks, reference)
    columns = {task: central_values(rows, task) for task in tasks} | {"average": [row.average for row in rows]}
    has_average = set(TASKS) <= set(tasks)
    details = _details(shown, rows, reference, has_average=has_average)
    table = TextTable(
        title=", ".join(filter(None, ["Test accuracy (%)", protocol_steps_and_size(shown)])),
        columns=(head, *tasks, "average", TRIED, "parameters", "time"),
        rows=lines,
        optional=("time", "parameters", "average", *tasks[:2:-1]),  # three tasks always stay
        notes=[*_notes(shown, rows, reference, left_out=len(records) - len(shown)), *details],
        details=len(details),
        best=frozenset((starts[index], name) for name, values in columns.items() for index in indices_of_best(values)),
        latex_caption=_caption(shown, rows, reference),
        csv_rows=[{head: row.name, **_csv_row(task, row.cells.get(task), reference)} for row in rows for task in tasks],
    )
    searched = any(row.tried != MISSING for row in rows)
    return table.without([*["average"] * (not has_average), *[TRIED] * (not searched)])


def size_and_time(row: Row) -> list[str]:
    """Write the number of parameters of a row's models, and the time of training on all its tasks together."""
    sizes = sorted({f"{cell.parameters / 1e6:.2f}" for cell in row.cells.values()}, key=float)
    seconds = 3600 * sum(cell.hours for cell in row.cells.values())
    return [f"{'–'.join(dict.fromkeys((sizes[0], sizes[-1])))} M", time_text(seconds)]


def _lines(row: Row, tasks: tuple[str, ...], reference: str) -> list[list[str]]:
    cells = [row.cells.get(task) for task in tasks]
    measured = [MISSING if cell is None else cell.with_origin_marks for cell in cells]
    lines = [[row.name, *measured, number(row.average), row.tried, *size_and_time(row)]]
    if any(cell.reference is not None for cell in row.cells.values()):
        average, published = row.average, row.average_reference
        difference = None if average is None or published is None else average - published
        lines.append([f"  {reference}", *map(_published, cells), number(published), "", "", ""])
        lines.append(["  difference", *map(_difference, cells), number(difference, sign=True), "", "", ""])
    return lines


def _published(cell: TableCell | None) -> str:
    return MISSING if cell is None else mean_and_std(cell.reference, cell.reference_std)


def _difference(cell: TableCell | None) -> str:
    if cell is None or cell.difference is None:
        return MISSING
    whose = "mean " if cell.partly_converged else ""  # the cell above shows the median
    return whose + number(cell.difference, sign=True) + (f" {cell.verdict}" if cell.verdict else "")


def _caption(records: list[Record], rows: list[Row], reference: str) -> str:
    """Word what a reader of the table alone needs: the numbers, the marks, and whose the published values are."""
    marks = " ".join(origin_notes(records, left_out=0)).removesuffix(".")
    cells = [cell for row in rows for cell in row.cells.values()]
    published = any(cell.reference is not None for cell in cells)
    judged = ", within or outside the tolerance around it" if reference == "paper" else ""
    source = f"{reference}: {SOURCES[reference]}; difference: ours minus theirs, in points{judged}" if published else ""
    return ". ".join(filter(None, [cell_note(cells), source, marks]))


def _notes(records: list[Record], rows: list[Row], reference: str, *, left_out: int) -> list[str]:
    """Word the notes that a reader needs who takes a number from the table."""
    origins = origin_notes(records, left_out=left_out)
    if not records:
        return origins
    cells = [cell for row in rows for cell in row.cells.values()]
    notes = [f"{cell_note(cells)}."]
    if any(cell.reference is not None for cell in cells):
        compared = {task for row in rows for task, cell in row.cells.items() if cell.inside is not None}
        tolerances = ", ".join(f"{task} ±{points:g}" for task, points in TOLERANCE_POINTS.items() if task in compared)
        judged = (
            f" Tolerance (within, outside): {tolerances} points."
            if reference == "paper"
            else " ±: its standard deviation over seeds."
            if reference == "s4"
            else " Its settings differ from those of these runs, so its values are shown for information only."
        )
        notes.append(f"{reference}: {SOURCES[reference]}.{judged}")
    count = sum(cell.count - cell.converged for cell in cells)
    failed = [f"{count} of {sum(cell.count for cell in cells)} runs did not converge."] if count else []
    return [*notes, *origins, *stopped_notes(records), *search_notes(records), *_deviation_notes(rows), *failed]


def _details(records: list[Record], rows: list[Row], reference: str, *, has_average: bool) -> list[str]:
    """Word how the numbers were computed, and statistics of the whole table."""
    if not records:
        return []
    tasks = in_benchmark_order(record.task for record in records)
    released = " (the released runs': 16-mixed)" if set(tasks) & set(TASKS) else ""
    limited = any("limit_test_batches" in record.settings.get("trainer", {}) for record in records)
    part = "; a row with limit_test_batches: so many batches, or that fraction of them, alone" if limited else ""
    on_test = any(record.settings["task"].get("dev_split") == "test" for record in records)
    dev = "; Text's dev split is its test split" if on_test else ""
    average = "average: complete rows only. " if has_average else ""
    details = [
        f"Tested: every test example{part}, with the best checkpoint by dev accuracy{dev}.",
        f"precision {', '.join(precisions(records))}{released};"
        f" device {', '.join(sorted({record.cost['device'] for record in records}))}.",
        f"{average}time: training time (fastest seed), all tasks together.",
        *unrecorded_notes(records),
    ]
    cells = [
        f"{row.name} on {task} {cell.count - cell.converged} of {cell.count}"
        for row in rows
        for task, cell in row.cells.items()
        if cell.converged < cell.count
    ]
    if cells:
        details.append(f"Seeds that did not converge: {'; '.join(cells)}. Converged: {convergence_rule(records)}.")
    if {record.size for record in records} != {"full"} or not set(tasks) & set(TASKS):
        details += _statistics_notes(records, reference)
    return details


def _statistics_notes(records: list[Record], reference: str) -> list[str]:
    """Word how well each task separates the methods, which are better than no mixing, and whose order is published."""
    above = above_no_attention(records)
    whose = "the paper's" if reference == "paper" else f"{reference}'s"
    worded = {
        "Between-method SD / between-seed SD, in points (without any difference the ratio is 1/√seeds), and how many"
        " pairs of rows differ significantly, without rows of one seed: {}.": separation_by_task(records),
        f"Rows significantly above attention=none (no mixing): {{}}. {RULE}": {
            task: result for task, result in above.items() if result.points
        },
        f"Not compared with attention=none, because they, or the none with the same other settings, have fewer than"
        f" {LEAST_SEEDS_FOR_T} seeds or some that did not converge beside some that did: {{}}.": {
            task: ", ".join(result.not_compared) for task, result in above.items() if result.not_compared
        },
        f"Order of attentions against {whose}, Kendall's rank correlation [95 % of resampled seeds, attentions fixed]:"
        " {}. With p above 0.05 the order is not significantly correlated. No other claim is made about the"
        " benchmark.": agreement_by_task(records, reference=reference),
    }
    return [
        note.format("; ".join(f"{task} {result}" for task, result in by_task.items()))
        for note, by_task in worded.items()
        if by_task
    ]


def _deviation_notes(rows: list[Row]) -> list[str]:
    """Word a note that says for which cells the paper's number is left out, and why."""
    cells_by_reasons: dict[tuple[str, ...], list[str]] = {}
    compared = False
    for row in rows:
        for task, cell in row.cells.items():
            if cell.deviations:
                cells_by_reasons.setdefault(cell.deviations, []).append(f"{row.name} on {task}")
            compared |= cell.reference is not None
    if not cells_by_reasons:
        return []
    if len(cells_by_reasons) == 1 and not compared:
        return [f"Not the paper's settings, so without its numbers: {shorten(*cells_by_reasons, most=MOST_REASONS)}."]
    why = [f"{', '.join(names)}: {shorten(reasons, most=MOST_REASONS)}" for reasons, names in cells_by_reasons.items()]
    return [f"Not the paper's settings, so without its number: {'; '.join(why)}."]


def _csv_row(task: str, cell: TableCell | None, reference: str) -> dict[str, object]:
    keys = (
        "count", "mean", "std", "noise", "difference", "inside", "converged",
        "parameters", "hours", "steps_per_second", "peak_memory_bytes", "tried",
    )  # fmt: skip
    others = ("reference_accuracy", "median", "lowest", "highest")
    csv_row: dict[str, object] = {"task": task, "reference": reference, **dict.fromkeys((*keys, *others))}
    if cell is None:
        return csv_row | {"origins": "", "departures": ""}
    of_others = (cell.reference, cell.median, min(cell.accuracies), max(cell.accuracies))
    csv_row |= {key: getattr(cell, key) for key in keys} | dict(zip(others, of_others, strict=True))
    return csv_row | {"origins": " ".join(sorted(cell.origins)), "departures": "; ".join(cell.deviations)}
