"""The runs of a report: a line of the table of runs for each, and for each row of a task the fields of its records."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from lra.base.text import time_text
from lra.runs.collection import Collection, finished_at, run_key
from lra.runs.files import DIAGNOSIS_PAGE, RESULT
from lra.runs.flat_settings import value_text
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.reference_curves import place_of
from lra.runs.schema import Record
from lra.tables.cells import make_rows
from lra.tables.notes_on_runs import ProtocolAndSize
from lra.tables.report.searches import FoundSearch
from lra.tables.report.summary import CellKey
from lra.terminal.display_names import TASK, display_name

RUN_COLUMNS = ("task", "method", "seed", "accuracy (%)", "best dev (%)", "time", "finished (UTC)")
# Fields that only programs read, or that are on the page elsewhere.
LEFT_OUT = (
    *("outcome.test_correct", "outcome.confusion", "outcome.dev_curve", "provenance.wandb_id", "schema_version"),
    *("identity.task", "identity.attention", "identity.seed", "outcome.test_accuracy", "outcome.best_dev_accuracy"),
    *("cost.train_seconds", "provenance.finished_at"),
)
OURS = "lra."  # begins the class of a setting of this project, which its name tells, too
OF_EACH_LAYER = "_layers"  # ends the name of a field with a number for each layer
COMMIT = re.compile("[0-9a-f]{40}")
DIGITS_OF_COMMIT = 10
DIGITS = 6  # significant ones of a number that differs between the runs of a row


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run, by a text for each of `RUN_COLUMNS`.

    Attributes:
        cell: id of the summary's cell that the run belongs to, the same for all seeds.
        diagnosis: a link to the page of `lra diagnose`; empty if there is none.
    """

    cells: list[str]
    cell: str
    diagnosis: str


@dataclass(frozen=True, kw_only=True)
class RunFields:
    """What the records of a row of a task hold, or those of a search.

    Attributes:
        cell: id of the summary's cell of these runs.
        name: what the runs are called above their fields.
        text: the places of runs among published runs; then a line for each field with its value: first those
            that the runs share, without what the first row of the task shares too, then those that differ, with the
            value of each run; of a search those that all trials share.
    """

    cell: str
    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class RunsOfReport:
    """All runs that are rows, and the ids of the cells that they belong to; `fields` are those of searches, too."""

    lines: dict[ProtocolAndSize, list[RunLine]] = field(default_factory=dict)
    fields: list[RunFields] = field(default_factory=list)
    ids: dict[CellKey, str] = field(default_factory=dict)


def runs_of_report(
    records_by_group: Mapping[ProtocolAndSize, list[Record]],
    searches: Sequence[FoundSearch],
    diagnoses: Mapping[tuple[object, ...], str],
    published: Iterable[Record],
) -> RunsOfReport:
    """Make the lines of some records, in the order of their groups, tasks, methods and seeds.

    The runs of a cell, its seeds, come one after another.

    Args:
        records_by_group: the records of each protocol and size, without the trials of searches.
        searches: the trials.
        diagnoses: links to the pages of `lra diagnose` by the key of the run, see `run_key`.
        published: the records with the reference seeds, among which each run is placed.
    """
    references: dict[str, list[Record]] = defaultdict(list)
    for record in published:
        references[record.config_hash].append(record)
    runs = RunsOfReport()
    first_of_task: dict[tuple[ProtocolAndSize, str], _Shared] = {}
    for group, records in records_by_group.items():
        lines = runs.lines.setdefault(group, [])
        rows = make_rows(records)
        for task in in_benchmark_order(record.task for record in records):
            for row in rows:
                if task not in row.cells:
                    continue
                name, seeds = row.name, row.cells[task].records
                cell = f"cell-{len(runs.ids) + 1}"
                runs.ids[CellKey(group, row.key, task)] = cell
                for record in seeds:
                    diagnosis = diagnoses.get(run_key(record), "")
                    lines.append(RunLine(cells=_column_texts(name, record), cell=cell, diagnosis=diagnosis))
                title = f"{display_name(name)} on {display_name(task, of=TASK)}"
                shared = _Shared(title, seeds)
                first = first_of_task.setdefault((group, task), shared)
                places = [place for record in seeds if (place := _place(record, references))]
                text = "\n".join([*places, *shared.lines(beside=first)])
                runs.fields.append(RunFields(cell=cell, name=_with_group(title, group), text=text))
    for search in searches:
        title = f"{display_name(search.method)} on {display_name(search.task, of=TASK)}: {len(search.trials)} trials"
        shared = _Shared(title, search.trials)
        text = "\n".join(shared.equal_lines(beside=first_of_task.setdefault((search.group, search.task), shared)))
        runs.fields.append(RunFields(cell="", name=_with_group(title, search.group), text=text))
    return runs


def diagnosis_links(collection: Collection, folder: Path) -> dict[tuple[object, ...], str]:
    """Find the pages of `lra diagnose` beside the records: for each run's key a link from a page in `folder`."""
    links: dict[tuple[object, ...], str] = {}
    for record, source in zip(collection.records, collection.sources, strict=True):
        page = source.with_name(DIAGNOSIS_PAGE)
        if source.name == RESULT and page.is_file():
            links[run_key(record)] = quote(os.path.relpath(page, folder))
    return links


def _with_group(title: str, group: ProtocolAndSize) -> str:
    return f"{title} ({group.protocol}, {group.size})"


def _place(record: Record, references: Mapping[str, Sequence[Record]]) -> str:
    """Word a run's place among the published runs with its settings; empty where there is none."""
    place = place_of(record, references.get(record.config_hash, ()))
    return f"seed {record.seed}: {place}" if place else ""


def _column_texts(method: str, record: Record) -> list[str]:
    """Write what a run has in each of `RUN_COLUMNS`."""
    identity, outcome = record.identity, record.outcome
    return [
        display_name(identity["task"], of=TASK),
        display_name(method),
        str(identity["seed"]),
        f"{100 * outcome['test_accuracy']:.2f}",
        f"{100 * outcome['best_dev_accuracy']:.2f}",
        time_text(record.train_seconds),
        finished_at(record)[:16].replace("T", " "),
    ]


class _Shared:
    """The fields of some records: those that have one value, and those that differ."""

    def __init__(self, title: str, records: Sequence[Record]):
        self._title = title
        self._records = records
        flat = [_fields(record) for record in records]
        keys = dict.fromkeys(key for fields in flat for key in fields)
        values = {key: [fields.get(key) for fields in flat] for key in keys}
        self._equal = {key: each[0] for key, each in values.items() if all(value == each[0] for value in each)}
        self._differing = {key: each for key, each in values.items() if key not in self._equal}

    def equal_lines(self, *, beside: "_Shared") -> list[str]:
        """Write a line for each field of one value, without those that the records of `beside` share too."""
        if beside is self:
            return [f"{key}: {_text(value)}" for key, value in self._equal.items()]
        lines = [f"As {beside._title}, but for:"]
        for key, value in self._equal.items():
            if beside._equal.get(key) != value:
                lines.append(f"{key}: {_text(value)}")
        return lines

    def lines(self, *, beside: "_Shared") -> list[str]:
        """Write these lines, and one for each field that differs, with the value of each seed."""
        lines = self.equal_lines(beside=beside)
        lines.append(f"seed: {', '.join(str(record.seed) for record in self._records)}")
        for key, values in self._differing.items():
            lines.append(f"{key}: {', '.join(map(_short, values))}")
        return lines


def _text(value: object) -> str:
    """Write a value as a user types it; of a commit its first digits."""
    if isinstance(value, str) and COMMIT.fullmatch(value):
        return value[:DIGITS_OF_COMMIT]
    return value_text(value)


def _short(value: object) -> str:
    """Write a value of one record among those of others."""
    if value is None:
        return "–"
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else _text(value)


def _fields(record: Record) -> dict[str, object]:
    """Flatten a record to dotted keys, without the fields that are left out."""
    fields: dict[str, object] = {}
    _add_fields(fields, {**record}, "")
    return fields


def _add_fields(fields: dict[str, object], group: Mapping[str, object], prefix: str) -> None:
    for name, value in group.items():
        key = f"{prefix}{name}"
        if key in LEFT_OUT or key.endswith(OF_EACH_LAYER) or name == "_partial_":
            continue
        if name == "_target_" and str(value).startswith(OURS):
            continue
        if isinstance(value, dict) and value:
            _add_fields(fields, value, f"{key}.")
        else:
            fields[key] = value
