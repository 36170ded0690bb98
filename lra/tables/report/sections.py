"""The sections of a report: tables and figures of each protocol, size and task that has more than the summary shows."""

from collections.abc import Iterable
from functools import partial

from lra.tables.attention_sweep import SWEEPS, sweep_points, sweep_table
from lra.tables.capacity import CAPACITY, capacity_rows, capacity_table, numbers_of_pairs
from lra.tables.comparison_table import comparison_table
from lra.tables.dev_curves import dev_curves
from lra.tables.figures.attention_sweep import plot_sweep
from lra.tables.figures.capacity import plot_capacity
from lra.tables.figures.comparison import plot_pareto
from lra.tables.notes_on_runs import protocol_steps_and_size, provenance_notes
from lra.tables.report.curve_panels import curve_panels
from lra.tables.report.sentences import sentences_of_task
from lra.tables.report.task_results import TaskResults
from lra.terminal.html_page import PageFigure, Part, Section, page_figure
from lra.terminal.text_table import TextTable


def report_sections(parts: Iterable[tuple[TaskResults, Part]]) -> list[Section]:
    """Make a section for each protocol and size, of the parts of its tasks; none of them is empty."""
    by_group: dict[str, list[Part]] = {}
    for results, part in parts:
        if not part.is_empty:
            by_group.setdefault(str(results.group), []).append(part)
    return [Section(name=name, parts=of_group) for name, of_group in by_group.items()]


def task_part(results: TaskResults) -> Part:
    """Make the tables and figures of one task, from its records of one protocol and size.

    They are a comparison of several methods, the sweeps over a number of an attention or of pairs to recall, and
    learning curves; the part is empty if the records are enough for none of them.
    """
    task, records = results.task, results.records
    majority_rate = records[0].majority_rate
    conditions = protocol_steps_and_size(records)
    tables: list[TextTable] = []
    figures: dict[str, PageFigure] = {}
    if len(results.compared) > 1:
        table = comparison_table(records, results.compared, title=f"Side by side: {conditions}")
        tables.append(table.with_prose_after("accuracy (%)", "verdict"))  # on a narrow page the last columns are off it
        draw = partial(plot_pareto, results.compared, title=task, majority_rate=majority_rate)
        figures["accuracy against time"] = page_figure(draw)
    for swept in SWEEPS.values():
        points = sweep_points(records, swept)
        numbers = {point.number for point in points if point.number is not None}
        if len(numbers) > 1:  # a sweep, not variants with the same number
            tables.append(sweep_table(points, swept, title=f"{swept.name.capitalize()}: {conditions}"))
            figures[swept.name] = page_figure(
                partial(plot_sweep, points, swept, title=task, majority_rate=majority_rate)
            )
    rows = capacity_rows(records)
    if len(numbers_of_pairs(rows)) > 1:
        tables.append(capacity_table(rows, title=f"{CAPACITY.capitalize()}: {conditions}"))
        figures[CAPACITY] = page_figure(partial(plot_capacity, rows, title=task, majority_rate=majority_rate))
    panels = curve_panels(dev_curves(records), majority_rate=majority_rate)
    notes = provenance_notes(records)
    with_notes = [table.without_empty_columns().with_notes(*notes) for table in tables]
    return Part(
        name=task,
        texts=sentences_of_task(results),
        tables=with_notes,
        figures=figures,
        panels={"learning curves": panels} if panels else {},
    )
