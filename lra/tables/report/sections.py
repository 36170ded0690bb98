"""The sections of a report: tables and figures of each protocol, size and task that has more than the summary shows."""

from collections.abc import Mapping
from functools import partial

from lra.runs.published_numbers import in_benchmark_order, paper_attention
from lra.runs.schema import Record
from lra.tables.attention_sweep import SWEEPS, sweep_points, sweep_table
from lra.tables.comparison import baseline_row, comparison_table, contenders, rows_of
from lra.tables.dev_curves import dev_curves
from lra.tables.figures.attention_sweep import plot_sweep
from lra.tables.figures.comparison import plot_pareto
from lra.tables.figures.dev_curves import plot_curves
from lra.tables.notes_on_runs import ProtocolAndSize, protocol_steps_and_size, provenance_notes
from lra.tables.variants import group_by_variant
from lra.terminal.html_page import Part, Section, svg
from lra.terminal.text_table import TextTable

BASELINE = "nystrom"


def report_sections(records_by_group: Mapping[ProtocolAndSize, list[Record]]) -> list[Section]:
    """Make a section for each protocol and size, with a part for each task; none of them is empty."""
    sections = []
    for group, records in records_by_group.items():
        parts = []
        for task in in_benchmark_order(record["identity"]["task"] for record in records):
            part = task_part(task, [record for record in records if record["identity"]["task"] == task])
            if not part.is_empty:
                parts.append(part)
        if parts:
            sections.append(Section(name=str(group), parts=parts))
    return sections


def task_part(task: str, records: list[Record]) -> Part:
    """Make the tables and figures of one task, from its records of one protocol and size.

    They are a comparison of several methods, the sweeps over a number of an attention, and learning curves; the part is
    empty if the records are enough for none of them.
    """
    majority_rate = records[0]["outcome"]["majority_rate"]
    conditions = protocol_steps_and_size(records)
    tables: list[TextTable] = []
    figures: dict[str, str] = {}
    compared = contenders(records, _baseline(records))
    if len(compared) > 1:
        tables.append(comparison_table(records, compared, title=f"Side by side: {conditions}"))
        draw = partial(plot_pareto, compared, title=task, majority_rate=majority_rate)
        figures["accuracy against time"] = svg(draw)
    for swept in SWEEPS.values():
        points = sweep_points(records, swept)
        numbers = {point.number for point in points if point.number is not None}
        if len(numbers) > 1:  # a sweep, not variants with the same number
            tables.append(sweep_table(points, swept, title=f"{swept.name.capitalize()}: {conditions}"))
            figures[swept.name] = svg(partial(plot_sweep, points, swept, title=task, majority_rate=majority_rate))
    curves = dev_curves(records)
    if curves:
        draw = partial(plot_curves, curves, title=f"{task}: learning curves", majority_rate=majority_rate)
        figures["learning curves"] = svg(draw)
    notes = provenance_notes(records)
    with_notes = [table.without_empty_columns().with_notes(*notes) for table in tables]
    return Part(name=task, tables=with_notes, figures=figures)


def _baseline(records: list[Record]) -> str | None:
    """Name the row of Nyström attention that the others are compared with; None if there is none."""
    rows = rows_of(BASELINE, group_by_variant(records))
    return baseline_row(rows, {"attention": paper_attention(BASELINE)})
