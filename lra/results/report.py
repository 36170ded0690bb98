"""Write the report of a run group: one HTML file that needs no other.

Its only script sorts tables and marks the runs of the cell that the address names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lra.results.page import Section, notes_once, write_page
from lra.results.report_summary_table import SummaryTable
from lra.results.runs_table import RUN_COLUMNS, RunLine

SCRIPT = Path(__file__).with_name("report.js")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Examples of a task, as lines of text or as a PNG in base64."""

    task: str
    note: str
    texts: list[str] = field(default_factory=list)
    image: str = ""


def write_report(
    path: Path,
    *,
    title: str,
    subtitle: str,
    summary: SummaryTable,
    sections: list[Section],
    runs: list[RunLine],
    samples: list[Sample],
    troubles: list[str],
) -> Path:
    """Write the page atomically, and return its path. Notes that several tables share are shown once."""
    sections, shared = notes_once(sections)
    return write_page(
        path,
        template="report.html",
        title=title,
        subtitle=subtitle,
        sections=sections,
        troubles=troubles,
        script=f"\n{SCRIPT.read_text()}",
        summary=summary,
        shared_notes=shared,
        run_columns=RUN_COLUMNS,
        runs=runs,
        samples=samples,
    )
