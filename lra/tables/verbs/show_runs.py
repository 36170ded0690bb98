"""`lra show runs`: list the runs below the folder of runs, with the state and the age of each."""

import time
from datetime import datetime
from pathlib import Path

from omegaconf import DictConfig

from lra.base.checked_json import parsed_json
from lra.base.files import paths_below, read_file
from lra.base.printed_commands import command, override, typed_overrides
from lra.runs.collection import collect, finished_at
from lra.runs.files import DATA, METRICS, hash_and_seed
from lra.runs.groups import PUBLISHED, find_group, nearest_groups
from lra.runs.reference_curves import place_among, place_of, published_curves, references_of
from lra.runs.schema import DevCurve, Record
from lra.settings.group_to_read import no_records
from lra.tables.run_states import RunState, finished, method_names, run_states, sorted_states
from lra.terminal.console import make_console
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable
from lra.training.curves import read_curves
from lra.types import UserError

NAMED_BY = ("a run is named by its hash and seed: lra evaluate run=HASH seed=SEED",)  # not a published record
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def show_runs(cfg: DictConfig) -> None:
    """Print a line for each run: of all groups, of the group `run_group=`, or of the file of published records `file=`.

    Published records are shown where they are asked for by name, not among all groups: they are no runs of this folder.

    Raises:
        UserError: when there is no run.
    """
    runs = Path(cfg.paths.runs)
    path = _path_to_show(runs, cfg.run_group, cfg.file)
    states = run_states(runs, cfg.run_group) if cfg.file is None else []
    published, problems = ([], []) if path == runs else published_states(path)
    states += published
    if not states:
        raise _nothing(path, problems)
    now, references = time.time(), published_curves(runs)
    rows = [
        [
            f"{state.task}/{state.method}",
            settings_hash,
            str(state.seed),
            "; ".join(filter(None, [state.state, _place_among_published(state, references)])),
            age(now - state.touched),
            state.group,
            settings,
            str(state.folder.relative_to(runs) if state.folder.is_relative_to(runs) else state.folder),
        ]
        for state in states
        for settings, _, settings_hash in [state.settings.rpartition("-")]
    ]
    table = TextTable(
        title=f"{len(states)} runs {'in' if path.is_file() else 'below'} {path}",
        columns=("run", "hash", "seed", "state", "age", "group", "settings", "folder"),
        rows=rows,
        notes=[*(NAMED_BY if any(state.folder.is_dir() for state in states) else ()), *problems],
        optional=("folder", "settings", "group"),
        prose=("state", "group", "settings", "folder"),
    )
    print_text_table(make_console(), table)


def _place_among_published(state: RunState, published: list[Record]) -> str:
    """Place a run, finished or not, among its reference seeds."""
    if state.record is not None:
        return place_of(state.record, published)
    if not state.folder.is_dir():  # a published record, which is a reference itself
        return ""
    settings_hash, seed = hash_and_seed(state.folder)
    try:
        data = parsed_json(read_file(state.folder / DATA), state.folder / DATA, "")
        passes = [row for row in read_curves(state.folder / METRICS) if "dev/accuracy" in row]
    except (FileNotFoundError, UserError):  # training says what is wrong with them
        return ""
    curve: DevCurve = {
        "step": [int(row["step"]) for row in passes],
        "accuracy": [row["dev/accuracy"] for row in passes],
    }
    return place_among(curve, references_of(published, settings_hash, data, seed))


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


def published_states(top: Path) -> tuple[list[RunState], list[str]]:
    """Read the records in a file, or in the files below a folder.

    Returns:
        The runs, and a line for each record that is left out because it is broken or older than another of its run.
    """
    states: list[RunState] = []
    problems: list[str] = []
    for file in sorted(path for path in paths_below(top) if path.suffix == PUBLISHED) if top.is_dir() else [top]:
        collection = collect(file)
        names = method_names(collection.records)
        states += [_state(record, names[id(record)], file) for record in collection.records]
        problems += collection.problems
    return sorted_states(states), problems


def _state(record: Record, method: str, source: Path) -> RunState:
    identity = record.identity
    steps, config_hash = record.steps, record.config_hash
    return RunState(
        folder=source,
        group=source.stem,
        task=identity["task"],
        method=method,
        settings=f"{identity['protocol']}-{identity['size']}-{steps}steps-{config_hash}",
        seed=identity["seed"],
        state=finished(record),
        touched=datetime.fromisoformat(finished_at(record)).timestamp(),
    )
