"""The page of a report: what is on it, in which order, from the records of a run group."""

from pathlib import Path

from lra.runs.collection import Collection, finished_at
from lra.runs.schema import Record
from lra.tables.notes_on_runs import by_protocol_and_size
from lra.tables.report.run_lines import RUN_COLUMNS, diagnosis_links, run_lines
from lra.tables.report.samples import Sample
from lra.tables.report.sections import report_sections
from lra.tables.report.summary import summary_table
from lra.terminal.html_page import notes_once, write_page

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
) -> None:
    """Write the report of some records, of which there is at least one, as one HTML file.

    Args:
        path: the file; links to other pages are relative to its folder.
        collection: the records, their files, and warnings about records that were left out.
        run_group: the name in the title.
        reference: the source of the published accuracies in the summary, one of `REFERENCES`.
        published: the records among which each run is placed, see `lra.runs.reference_curves`.
        samples: examples of the tasks; the page has no such section if there are none.
    """
    last = max(finished_at(record) for record in collection.records)
    records_by_group = by_protocol_and_size(collection.records)
    runs, links = run_lines(records_by_group, diagnosis_links(collection, path.parent), published)
    sections, shared_notes = notes_once(report_sections(records_by_group))
    write_page(
        path,
        template=TEMPLATE,
        title=f"Long Range Arena: {run_group}",
        subtitle=f"{len(collection.records)} runs, the last of {last[:10]}; made from their records alone.",
        sections=sections,
        problems=collection.problems,
        script=SCRIPT,
        summary=summary_table(records_by_group, reference=reference, links=links),
        shared_notes=shared_notes,
        run_columns=RUN_COLUMNS,
        runs=runs,
        samples=samples,
    )
