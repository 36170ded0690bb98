"""Write the report of a run group: one HTML file that needs no other. Its only script sorts the table of runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lra.results.page import Section, write_page
from lra.results.report_summary_table import Headline
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
    headline: Headline,
    sections: list[Section],
    runs: list[RunLine],
    samples: list[Sample],
    troubles: list[str],
) -> Path:
    """Write the page atomically, and return its path."""
    return write_page(
        path,
        template="report.html",
        title=title,
        subtitle=subtitle,
        sections=sections,
        troubles=troubles,
        script=f"\n{SCRIPT.read_text()}",
        headline=headline,
        run_columns=RUN_COLUMNS,
        runs=runs,
        samples=samples,
    )
