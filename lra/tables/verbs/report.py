"""lra report: write all results of a run group into one HTML file.

  lra report run_group=table                      a group of your runs
  lra report run_group=landmarks out=landmarks.html
  lra report run_group=published samples=0        the project's published records
  lra report run_group=published/listops.jsonl    one of their files; also the path of any folder or .jsonl file

It begins with one table of all accuracies, whose numbers lead to their runs. Then come tables and figures of each
protocol, size and task, a table of all runs, with links to the pages of lra diagnose, each run's settings and
provenance, and examples of each task. Each table can be sorted by each column. The file needs no network
and has a light and a dark style, also for phones.
"""

import base64
import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from omegaconf import DictConfig

from lra import from_config
from lra.base.arguments import check_choice
from lra.base.command_line import override, shell_word
from lra.base.paths import conf_names
from lra.base.text import MISSING, number, size_text, visible
from lra.data.codec import images
from lra.from_config.store import is_prepared
from lra.runs.collection import Collection, collect, describe, finished_at, run_key
from lra.runs.files import DIAGNOSIS_PAGE, RESULT
from lra.runs.groups import group_file
from lra.runs.published_numbers import REFERENCES, in_benchmark_order, paper_attention
from lra.runs.reference_curves import place_of, published_curves
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.settings.group_to_read import no_records, with_group_found
from lra.tables.accuracy_table import accuracy_table, size_and_hours
from lra.tables.attention_sweep import SWEEPS, sweep_points, sweep_table
from lra.tables.cells import TRIED, TableCell, central_values, make_rows, places_of_best
from lra.tables.comparison import baseline_row, comparison_table, contenders, rows_of
from lra.tables.conditions import (
    ProtocolAndSize,
    by_protocol_and_size,
    protocol_steps_and_size,
    provenance_notes,
    without_stand_ins,
)
from lra.tables.dev_curves import dev_curves
from lra.tables.figures.attention_sweep import plot_sweep
from lra.tables.figures.comparison import plot_pareto
from lra.tables.figures.dev_curves import plot_curves
from lra.tables.variants import group_by_variant
from lra.terminal.console import check_out, check_writable, make_console, out_path
from lra.terminal.html_page import Part, Section, notes_once, svg, write_page
from lra.terminal.plots import contact_sheet
from lra.types import UserError

TEMPLATE, SCRIPT = Path(__file__).with_name("report.html"), Path(__file__).with_name("report.js")
BASELINE = "nystrom"
SHEET = 16  # images that are shown for a task
Place = tuple[ProtocolAndSize, str, str]  # … with the row's name and the task
RUN_COLUMNS = ("task", "method", "protocol", "size", "seed", "accuracy (%)", "best dev (%)", "hours", "finished (UTC)")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Examples of a task, as lines of text or as a PNG in base64."""

    task: str
    note: str
    texts: list[str] = field(default_factory=list)
    image: str = ""


def to_overrides(words: Sequence[str]) -> list[str]:
    """Find the run group, wherever it lies."""
    return with_group_found(words)


def run(cfg: DictConfig) -> None:
    """Write the page."""
    check_choice("reference", cfg.reference, REFERENCES)
    group = Path(cfg.paths.runs) / cfg.run_group
    path = _page_path(cfg.out, group)
    collection = collect(group) if group.exists() else Collection()
    if not collection.records:
        raise no_records("report", group, troubles=collection.troubles)
    newest, kinds = max(map(finished_at, collection.records)), by_protocol_and_size(collection.records)
    published = published_curves(Path(cfg.paths.runs))
    runs, cells = run_lines(kinds, _diagnoses(collection, path.parent), published)
    sections, shared_notes = notes_once([_section(kind, records) for kind, records in kinds.items()])
    write_page(
        path,
        template=TEMPLATE,
        title=f"Long Range Arena: {cfg.run_group}",
        subtitle=f"{len(collection.records)} runs, the last of {newest[:10]}; made from their records alone.",
        sections=[section for section in sections if section.parts],
        troubles=collection.troubles,
        script=SCRIPT,
        summary=summary_table(kinds, reference=cfg.reference, links=cells),
        shared_notes=shared_notes,
        run_columns=RUN_COLUMNS,
        runs=runs,
        samples=_samples(cfg, collection.records) if cfg.samples else [],
    )
    make_console().print(f"{visible(str(path))}  {size_text(path.stat().st_size)}")


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


@dataclass(frozen=True, kw_only=True)
class SummaryCell:
    """One method on one task, or one of the last columns: a cell of the table with its marks, `37.00 ± 1.00 (3)‡`.

    Attributes:
        published: the published accuracy and the difference; empty if there is none to compare with.
        verdict: `within` or `outside` the tolerance around the paper's accuracy; empty if it is not compared with it.
        is_best: whether no other method of the same protocol and size is better on this task.
        link: id of the first of its runs in the table of runs; empty for none.
    """

    text: str
    published: str = ""
    verdict: str = ""
    is_best: bool = False
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class SummaryTable:
    """The table: for each protocol and size a group of rows, each a method's name with one cell for each column.

    The notes say what the numbers and the marks mean, how many runs were left out, and what the tests say.
    """

    columns: tuple[str, ...]
    groups: dict[ProtocolAndSize, list[tuple[str, list[SummaryCell]]]]
    notes: list[str]


def summary_table(
    records_by_group: Mapping[ProtocolAndSize, list[Record]], *, reference: str, links: Mapping[Place, str]
) -> SummaryTable:
    """Build the summary of the records of each protocol and size, with published values of the source `reference`.

    Runs of size=full on stand-in data are left out. `links` has, for a protocol and size, a row's name and a task, the
    id of the first of these runs.
    """
    shown = {group: left for group, records in records_by_group.items() if (left := without_stand_ins(records))}
    tasks = in_benchmark_order(record["identity"]["task"] for records in shown.values() for record in records)
    rows = {group: make_rows(records, reference=reference, tasks=tasks) for group, records in shown.items()}
    has_tried = any(row.tried != MISSING for of_group in rows.values() for row in of_group)
    has_average = any(row.average is not None for of_group in rows.values() for row in of_group)
    tables = {group: accuracy_table(records, reference=reference) for group, records in records_by_group.items()}
    counts = Counter(note for table in tables.values() for note in table.notes)
    notes = [
        note if len(tables) == 1 or counts[note] > 1 else f"{group}: {note}"
        for group, table in tables.items()
        for note in table.notes
    ]
    groups: dict[ProtocolAndSize, list[tuple[str, list[SummaryCell]]]] = {}
    for group, of_group in rows.items():
        best = {task: places_of_best(central_values(of_group, task)) for task in tasks}
        groups[group] = []
        for place, row in enumerate(of_group):
            cells = [
                _summary_cell(
                    row.cells[task], reference, is_best=place in best[task], link=links.get((group, row.name, task), "")
                )
                for task in tasks
            ]
            rest = [*[number(row.average)] * has_average, *[row.tried] * has_tried, *size_and_hours(row)]
            groups[group].append((row.name, [*cells, *(SummaryCell(text=text) for text in rest)]))
    return SummaryTable(
        columns=(*tasks, *["average"] * has_average, *[TRIED] * has_tried, "parameters", "hours"),
        groups=groups,
        notes=list(dict.fromkeys(notes)),
    )


def _summary_cell(cell: TableCell | None, reference: str, *, is_best: bool, link: str) -> SummaryCell:
    if cell is None:
        return SummaryCell(text=MISSING)
    published = ""
    if cell.reference is not None:
        whose = "mean " if cell.partly_converged else ""  # the accuracy shown is the median
        published = f"{reference} {number(cell.reference)}, {whose}{number(cell.difference, sign=True)}"
    return SummaryCell(
        text=cell.with_origin_marks, published=published, verdict=cell.verdict, is_best=is_best, link=link
    )


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run, by its name and a text for each of `RUN_COLUMNS`.

    Attributes:
        cell: id of the summary's cell that the run belongs to, the same for all seeds.
        record: the record, a line for each field with its value as JSON, without the one that only programs read; of
            another seed than the first of a cell what differs from that.
        diagnosis: a link to the page of `lra diagnose`; empty if there is none.
    """

    cells: list[str]
    name: str
    cell: str
    record: str
    diagnosis: str


def run_lines(
    records_by_group: dict[ProtocolAndSize, list[Record]],
    diagnoses: Mapping[tuple[object, ...], str],
    published: list[Record],
) -> tuple[list[RunLine], dict[Place, str]]:
    """Make the lines of some records, in the order of their groups, tasks, methods and seeds, and the ids of the cells.

    The runs of a cell, its seeds, come one after another. `diagnoses` has links to the pages of `lra diagnose` by the
    key of the run, see `run_key`; each run is placed among its reference seeds in `published`.
    """
    lines: list[RunLine] = []
    cells: dict[Place, str] = {}
    firsts: dict[str, Record] = {}
    for group, records in records_by_group.items():
        tasks = in_benchmark_order(record["identity"]["task"] for record in records)
        members = [(name, record) for name, seeds in group_by_variant(records).items() for record in seeds]
        for name, record in sorted(members, key=lambda member: tasks.index(member[1]["identity"]["task"])):
            cell = cells.setdefault((group, name, record["identity"]["task"]), f"cell-{len(cells) + 1}")
            texts = [place_of(record, published), _readable(record, firsts.setdefault(cell, record))]
            line = RunLine(
                cells=_run_cells(name, record),
                name=describe(record),
                cell=cell,
                record="\n".join(filter(None, texts)),
                diagnosis=diagnoses.get(run_key(record), ""),
            )
            lines.append(line)
    return lines, cells


def _run_cells(method: str, record: Record) -> list[str]:
    identity, outcome, hours = record["identity"], record["outcome"], record["cost"]["train_seconds"] / 3600
    return [
        identity["task"],
        method,
        identity["protocol"],
        identity["size"],
        str(identity["seed"]),
        *(f"{100 * accuracy:.2f}" for accuracy in (outcome["test_accuracy"], outcome["best_dev_accuracy"])),
        f"{hours:.2f}" if hours >= 0.1 else f"{hours:.4f}",
        finished_at(record)[:16].replace("T", " "),
    ]


def _readable(record: Record, first: Record) -> str:
    """Write a record as lines, in short where it is another seed of the first of its cell: what they share is there."""
    fields, shared = _fields(record), _fields(first) if record is not first else []
    head = [f"As that of seed {first['identity']['seed']}, but for:"] if shared else []
    return "\n".join([*head, *(line for line in fields if line not in shared)])


def _fields(record: Record) -> list[str]:
    groups: dict[str, object] = {**record}
    fields: dict[str, object] = {}
    for group, inner in groups.items():
        if isinstance(inner, dict):
            fields |= {f"{group}.{key}": value for key, value in inner.items()}
        else:
            fields[group] = inner
    return [f"{key}: {json.dumps(value)}" for key, value in fields.items() if key != "outcome.test_correct"]


def _diagnoses(collection: Collection, folder: Path) -> dict[tuple[object, ...], str]:
    """Find the pages of `lra diagnose` beside the records: for each run's key a link from a page in `folder`."""
    pages = {
        run_key(record): source.with_name(DIAGNOSIS_PAGE)
        for record, source in zip(collection.records, collection.sources, strict=True)
        if source.name == RESULT
    }
    return {key: quote(os.path.relpath(page, folder)) for key, page in pages.items() if page.is_file()}


def _section(kind: ProtocolAndSize, records: list[Record]) -> Section:
    """Make the section of a protocol and size: a part for each task that has more to show than the summary."""
    tasks = in_benchmark_order(record["identity"]["task"] for record in records)
    parts = [_part(task, [record for record in records if record["identity"]["task"] == task]) for task in tasks]
    return Section(name=str(kind), parts=[part for part in parts if not part.is_empty])


def _part(task: str, records: list[Record]) -> Part:
    rate, tables, figures = records[0]["outcome"]["majority_rate"], [], {}
    compared = contenders(records, _baseline(records))
    if len(compared) > 1:
        tables.append(comparison_table(records, compared, title=f"Side by side: {protocol_steps_and_size(records)}"))
        figures["accuracy against time"] = svg(partial(plot_pareto, compared, title=task, majority_rate=rate))
    for swept in SWEEPS.values():
        points = sweep_points(records, swept)
        if len({point.number for point in points} - {None}) > 1:  # a sweep, not variants with the same number
            title = f"{swept.name.capitalize()}: {protocol_steps_and_size(records)}"
            tables.append(sweep_table(points, swept, title=title))
            figures[swept.name] = svg(partial(plot_sweep, points, swept, title=task, majority_rate=rate))
    curves = dev_curves(records)
    if curves:
        figures["learning curves"] = svg(
            partial(plot_curves, curves, title=f"{task}: learning curves", majority_rate=rate)
        )
    notes = provenance_notes(records)
    return Part(
        name=task, tables=[table.without_empty_columns().with_notes(*notes) for table in tables], figures=figures
    )


def _baseline(records: list[Record]) -> str | None:
    """Name the row of Nyström attention that the others are compared with; None if there is none."""
    rows = rows_of(BASELINE, group_by_variant(records))
    return baseline_row(rows, {"attention": paper_attention(BASELINE)})


def _samples(cfg: DictConfig, records: list[Record]) -> list[Sample]:
    """Draw examples of each task whose store is prepared here and holds the data of the records."""
    samples = []
    hashes: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for record in records:
        identity = record["identity"]
        hashes[identity["task"], identity["size"]].append(record["provenance"]["data_sha256"])
    for task, size in sorted(hashes):
        if task not in conf_names("task") or size not in conf_names("size"):  # of a package that is not here
            continue
        chosen = load_config("train", [f"task={task}", f"size={size}"])
        chosen.paths = cfg.paths
        if not is_prepared(chosen):
            continue
        try:
            data, codec = from_config.build_data(chosen), from_config.build_codec(chosen)
        except UserError:  # of another version: lra prepare says more
            continue
        if data.data_sha256 not in hashes[task, size]:
            continue
        split = data.splits["test"]
        note = f"test split, size {size}, data {data.manifest['origin']}"
        shown = [split.example(index) for index in range(min(max(SHEET, cfg.samples), len(split)))]
        sheet = images(codec, [stored[0] for stored, _ in shown[:SHEET]])
        if sheet:
            with TemporaryDirectory() as place:
                path = contact_sheet(sheet, [label for _, label in shown[:SHEET]], Path(place) / "sheet.png")
                samples.append(Sample(task=task, note=note, image=base64.b64encode(path.read_bytes()).decode()))
            continue
        drawn = [(label, codec.draw(stored, data.source_facts)) for stored, label in shown[: cfg.samples]]
        texts = ["\n".join([f"label {label}", *lines]) for label, lines in drawn]
        samples.append(Sample(task=task, note=note, texts=texts))
    return samples
