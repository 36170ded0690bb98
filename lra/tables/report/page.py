"""The page of a report: what is on it, in which order, from the records of a run group."""

from pathlib import Path

from lra.base.text import MISSING
from lra.runs.collection import Collection, finished_at
from lra.runs.schema import Record
from lra.tables.notes_on_runs import by_protocol_and_size
from lra.tables.report.names_in_notes import with_display_names
from lra.tables.report.run_lines import RUN_COLUMNS, diagnosis_links, runs_of_report
from lra.tables.report.samples import Sample
from lra.tables.report.searches import SEARCH_COLUMNS, without_searches
from lra.tables.report.sections import report_sections, task_part
from lra.tables.report.sentences import report_sentences
from lra.tables.report.summary import summary_table
from lra.tables.report.task_results import task_results, tasks_in_order
from lra.terminal.console import Advance
from lra.terminal.display_names import TASK, display_name
from lra.terminal.html_page import PageForm, notes_once, row_with_display_name, write_page

TEMPLATE = Path(__file__).with_name("report.html")
SCRIPT = Path(__file__).with_name("report.js")


def write_report(
    path: Path,
    collection: Collection,
    *,
    run_group: str,
    reference: str,
    published: list[Record],
    samples: list[Sample],
    advance: Advance,
) -> None:
    """Write the report of some records, of which there is at least one, as one HTML file.

    Args:
        path: the file; links to other pages are relative to its folder.
        collection: the records, their files, and warnings about records that were left out.
        run_group: the name in the title.
        reference: the source of the published accuracies in the summary, one of `REFERENCES`.
        published: the records among which each run is placed, see `lra.runs.reference_curves`.
        samples: examples of the tasks; the page has no such section if there are none.
        advance: takes what is made now, and how many records the part that is made has, those of `collection` in all.
    """
    last = max(finished_at(record) for record in collection.records)
    records, searches = without_searches(collection.records)
    records_by_group = by_protocol_and_size(records)
    parts, done = [], len(collection.records) - len(records)
    for group, task in tasks_in_order(records_by_group):
        advance(f"{display_name(task, of=TASK)}, {group.protocol}, {group.size}", done)
        results = task_results(group, task, records_by_group[group])
        parts.append((results, task_part(results)))
        done = len(results.records)
    advance("the page", done)
    runs = runs_of_report(records_by_group, searches, diagnosis_links(collection, path.parent), published)
    summary = summary_table(records_by_group, reference=reference, links=runs.ids)
    sections, shared_notes = notes_once(report_sections(parts))
    names = {contender.name for results, _ in parts for contender in results.compared}
    names |= {row.name for rows in summary.groups.values() for row in rows}
    all_results = [results for results, _ in parts]
    write_page(
        path,
        title=f"Long Range Arena: {run_group}",
        subtitle=f"{len(collection.records)} runs, the last of {last[:10]}; made from their records alone.",
        sections=sections,
        problems=collection.problems,
        form=PageForm(
            template=TEMPLATE, script=SCRIPT, row_name=row_with_display_name, worded=with_display_names(names)
        ),
        sentences=report_sentences(all_results, summary, searches),
        summary=summary,
        missing=MISSING,
        shared_notes=shared_notes,
        run_columns=RUN_COLUMNS,
        runs=runs,
        search_columns=SEARCH_COLUMNS,
        searches=searches,
        samples=samples,
    )
