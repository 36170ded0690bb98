"""`lra show runs`: list the runs below the folder of runs, with the state and the age of each."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from lra.base.checked_json import parsed_json
from lra.base.files import paths_below, read_file
from lra.base.printed_commands import command, override, typed_overrides
from lra.run import Run
from lra.runs.collection import collect, finished_at
from lra.runs.files import DATA, METRICS
from lra.runs.groups import PUBLISHED, find_group, nearest_groups
from lra.runs.reference_curves import place_among, place_of, published_curves, references_of
from lra.runs.schema import DevCurve, Record
from lra.settings.command_options import Show
from lra.settings.group_to_read import no_records
from lra.tables.notes_on_runs import by_protocol_and_size
from lra.tables.variants import group_by_key, natural, row_names
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable
from lra.training.curves import read_curves
from lra.types import UserError

NAMED_BY = ("a run is named by its hash and seed: lra evaluate run=HASH seed=SEED",)  # not a published record
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


@dataclass(frozen=True, kw_only=True)
class ShownRuns:
    """Runs, each with what is shown of it, and the table of them."""

    lines: list[Line]
    table: TextTable

    def show(self, console: Console) -> None:
        """Print the table."""
        print_text_table(console, self.table)


def show_runs(cfg: Show) -> ShownRuns:
    """Find the runs to show: of all groups, of the group `run_group=`, or of the file of published records `file=`.

    Published records are shown where they are asked for by name, not among all groups: they are no runs of this folder.

    Raises:
        UserError: when there is no run.
    """
    runs = cfg.paths.runs
    path = _path_to_show(runs, cfg.run_group, cfg.file)
    lines = lines_of_runs(runs, cfg.run_group) if cfg.file is None else []
    published, problems = ([], []) if path == runs else published_lines(path)
    lines += published
    if not lines:
        raise _nothing(path, problems)
    now, references = time.time(), published_curves(runs)
    rows = [
        [
            f"{line.task}/{line.label}",
            settings_hash,
            str(line.seed),
            "; ".join(filter(None, [line.state, _place_among_published(line, references)])),
            age(now - line.touched),
            line.group,
            settings,
            str(line.path.relative_to(runs) if line.path.is_relative_to(runs) else line.path),
        ]
        for line in lines
        for settings, _, settings_hash in [line.settings_folder.rpartition("-")]
    ]
    table = TextTable(
        title=f"{len(lines)} runs {'in' if path.is_file() else 'below'} {path}",
        columns=("run", "hash", "seed", "state", "age", "group", "settings", "folder"),
        rows=rows,
        notes=[*(NAMED_BY if any(line.run for line in lines) else ()), *problems],
        optional=("folder", "settings", "group"),
        prose=("state", "group", "settings", "folder"),
    )
    return ShownRuns(lines=lines, table=table)


class Line(NamedTuple):
    """What is shown of a run in the folder of runs, or of a published record, which has no `run`.

    `path` is the run's folder, or the file of published records, `group` the run group, or the name of that file,
    `label` the attention or the mixer, with the settings that tell it apart if the run is finished, `settings_folder`
    protocol, size, steps and hash, and `touched` the time of the last change, in seconds since 1970.
    """

    run: Run | None
    record: Record | None
    path: Path
    group: str
    task: str
    label: str
    settings_folder: str
    seed: int
    state: str
    touched: float


def lines_of_runs(runs: Path, group: str | None) -> list[Line]:
    """Look at every run below `runs`, or below one of its groups."""
    lines = [_line_of_run(run, runs) for run in Run.below(runs if group is None else runs / group, runs)]
    names = method_names([line.record for line in lines if line.record])
    return _sorted(line._replace(label=names[id(line.record)]) if line.record else line for line in lines)


def _line_of_run(run: Run, runs: Path) -> Line:
    names, (record, state) = run.names, run.record_and_state()
    return Line(
        run=run,
        record=record,
        path=run.folder,
        group=str(run.folder.relative_to(runs).parents[3]),
        task=names.task,
        label=names.method,
        settings_folder=names.settings,
        seed=names.seed,
        state=state,
        touched=run.touched,
    )


def published_lines(top: Path) -> tuple[list[Line], list[str]]:
    """Read the records in a file, or in the files below a folder.

    Returns:
        The lines, and a line for each record that is left out because it is broken or older than another of its run.
    """
    lines: list[Line] = []
    problems: list[str] = []
    for file in sorted(path for path in paths_below(top) if path.suffix == PUBLISHED) if top.is_dir() else [top]:
        collection = collect(file)
        names = method_names(collection.records)
        lines += [_line_of_record(record, names[id(record)], file) for record in collection.records]
        problems += collection.problems
    return _sorted(lines), problems


def _line_of_record(record: Record, label: str, source: Path) -> Line:
    return Line(
        run=None,
        record=record,
        path=source,
        group=source.stem,
        task=record.task,
        label=label,
        settings_folder=f"{record.protocol}-{record.size}-{record.steps}steps-{record.config_hash}",
        seed=record.seed,
        state=record.finished_text,
        touched=datetime.fromisoformat(finished_at(record)).timestamp(),
    )


def method_names(records: Collection[Record]) -> dict[int, str]:
    """Name the method of each record, by the record's id, with the settings that tell it apart from the others."""
    return {
        id(record): name
        for of_group in by_protocol_and_size(records).values()
        for groups in [group_by_key(of_group)]
        for key, name in row_names(groups).items()
        for record in groups[key]
    }


def _sorted(lines: Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.group, line.task, natural(line.label), line.settings_folder, line.seed))


def _place_among_published(line: Line, published: list[Record]) -> str:
    """Place a run, finished or not, among its reference seeds; a published record is a reference itself."""
    if line.run is None:
        return ""
    if line.record is not None:
        return place_of(line.record, published)
    folder, names = line.run.folder, line.run.names
    try:
        data = parsed_json(read_file(folder / DATA), folder / DATA, "")
        passes = [row for row in read_curves(folder / METRICS) if "dev/accuracy" in row]
    except (FileNotFoundError, UserError):  # training says what is wrong with them
        return ""
    curve: DevCurve = {
        "step": [int(row["step"]) for row in passes],
        "accuracy": [row["dev/accuracy"] for row in passes],
    }
    return place_among(curve, references_of(published, names.config_hash, data, names.seed))


def _path_to_show(runs: Path, group: str | None, file: str | None) -> Path:
    """Find what is shown: the folder of runs, a group's folder or file, or any file of published records.

    Raises:
        UserError: for a group and a file together, and where there is no such file.
    """
    if file is None:
        return runs / (group or "")
    if group is not None:
        line = f"run_group={group} has no effect beside the file {file}; leave one of the two out"
        raise UserError(line, kind="no_effect", key="run_group", value=group)
    here = Path(file).expanduser()
    path = here if here.exists() else find_group(runs, file).path
    if path.is_file() and path.suffix == PUBLISHED:
        return path
    if path.is_dir():
        as_group = command("show runs", override("run_group", here.absolute() if here.exists() else file))
        raise UserError(f"{file} is a folder; type: {as_group}", kind="missing_file", key=file, right=as_group)
    if path.exists():
        line = f"{file} is not a {PUBLISHED} file of published records; name one, or a folder of runs"
        raise UserError(line, kind="missing_file", key=file)
    others = typed_overrides("paths.runs")
    right = [command("show runs", name, *others) for name in nearest_groups(runs, file) if name.endswith(PUBLISHED)]
    line = f"{file} is not there; type: {right[0] if right else command('show runs', *others)}"
    raise UserError(line, kind="missing_file", key=file, right=right)


def _nothing(path: Path, problems: list[str]) -> UserError:
    if problems:
        line = f"no valid record is in {path}; {problems[0]}"
    elif path.is_file():
        line = f"no record is in {path}; it may hold other measurements, such as speeds"
    else:
        return no_records("show runs", path)
    return UserError(line, kind="no_records", key=str(path))


def age(seconds: float) -> str:
    """Word the time since something, in its largest unit, such as `3 h`."""
    return next((f"{seconds / unit:.0f} {name}" for unit, name in UNITS if seconds >= unit), "now")
