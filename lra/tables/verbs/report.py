"""lra report: write all results of a run group into one HTML file.

  lra report run_group=table                      a group of your runs
  lra report run_group=landmarks out=landmarks.html
  lra report run_group=published samples=0        the project's published records
  lra report run_group=published/listops.jsonl    one of their files; also the path of any folder or .jsonl file

It begins with three sentences on what differs significantly and what cannot be told, and a table of contents. Then come
one table of all accuracies, whose numbers lead to their runs; tables and figures of each protocol, size and task; a
line for each search, whose trials are no rows; folded, a table of all runs, with links to the pages of lra diagnose,
and their settings and provenance; and examples of each task. Each table can be sorted by each column. The file needs
no network, has a light and a dark style, also for phones, and prints in landscape format.
"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lra.base.option_types import check_choice
from lra.base.overrides import Overrides
from lra.base.printed_commands import override, shell_word
from lra.base.text import size_text, visible
from lra.runs.collection import Collection, collect
from lra.runs.groups import PUBLISHED_FOLDER, group_file
from lra.runs.published_numbers import REFERENCES
from lra.runs.reference_curves import published_curves
from lra.settings import command_options as options
from lra.settings.group_to_read import no_records, with_group_found
from lra.settings.run_config import RunConfig
from lra.tables.report.page import write_report
from lra.tables.report.samples import task_samples
from lra.terminal.console import check_out, check_writable, make_console, out_path, work_progress
from lra.types import UserError


def to_overrides(typed: Overrides) -> Overrides:
    """Find the run group, wherever it lies."""
    return with_group_found(typed)


@dataclass(frozen=True)
class Report:
    """The page that was written."""

    path: Path

    def show(self, console: Console) -> None:
        """Print where it is, and its size."""
        console.print(f"{visible(str(self.path))}  {size_text(self.path.stat().st_size)}")


def run(cfg: RunConfig) -> Report:
    """Write the page."""
    asked = options.Report.view(cfg)
    check_choice("reference", asked.reference, REFERENCES)
    runs = cfg.paths.runs
    group = runs / asked.run_group
    path = _page_path(asked.out, group)
    collection = collect(group) if group.exists() else Collection()
    if not collection.records:
        raise no_records("report", group, problems=collection.problems)
    console = make_console()
    with work_progress(console, len(collection.records), in_pipe=True) as advance:
        samples = []
        if asked.samples:
            advance("samples", 0)
            samples = task_samples(collection.records, data_dir=str(cfg.paths.data), count=asked.samples)
        write_report(
            path,
            collection,
            run_group=asked.run_group,
            reference=asked.reference,
            published=published_curves(runs, known=collection if group == runs / PUBLISHED_FOLDER else None),
            samples=samples,
            advance=advance,
        )
    return Report(path)


def _page_path(out: str | None, group: Path) -> Path:
    """Choose the file of the page, and refuse it before the work if it cannot be written."""
    if out is None:
        path = group_file(group, "report.html")
        if group.exists():
            check_writable(path, None)
        return path
    check_out(out, "report.html", makes_folder=True)
    path = Path(out)
    if path.suffix not in (".html", ".htm"):
        right = override("out", path.with_suffix(".html"))
        line = f"out={out}: a report is HTML; type for example {shell_word(right)}"
        raise UserError(line, kind="wrong_value", key="out", value=out, right=right)
    return out_path(out)
