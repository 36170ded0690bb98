"""The runs below a folder of runs: finished, running, failed, or begun and to be resumed."""

import csv
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from lra.runs.failure import read_failure
from lra.runs.files import MARKS_OF_A_RUN, METRICS, SETTINGS_FOLDER, run_folders
from lra.runs.record import OtherVersionError, read_record
from lra.runs.record_words import steps_text
from lra.runs.run_lock import is_locked
from lra.runs.schema import Record
from lra.tables.notes_on_runs import by_protocol_and_size
from lra.tables.variants import group_by_variant, natural
from lra.types import UserError


class RunState(NamedTuple):
    """A run's folder, or the file of its published record, and what has become of it, in words.

    `group` is its run group, or the name of that file, `method` the attention or the mixer, with the settings that tell
    it apart if it is finished, `settings` protocol, size, steps and hash, as in the folder's name, and `touched` the
    time of the last change, in seconds since 1970. `record` is that of a finished run.
    """

    folder: Path
    group: str
    task: str
    method: str
    settings: str
    seed: int
    state: str
    touched: float
    record: Record | None = None


def run_states(runs: Path, group: str | None = None) -> list[RunState]:
    """Look at every run's folder below `runs`, or below one of its groups."""
    states = [_state(runs, folder) for folder in run_folders(runs if group is None else runs / group, runs)]
    names = method_names([each.record for each in states if each.record])
    return sorted_states(each._replace(method=names[id(each.record)]) if each.record else each for each in states)


def _state(runs: Path, folder: Path) -> RunState:
    *group, task, method, settings, seed = folder.relative_to(runs).parts
    record, state = _record_and_state(folder)
    touched = max((folder / file).stat().st_mtime for file in MARKS_OF_A_RUN if (folder / file).exists())
    number = int(seed.removeprefix("seed"))
    return RunState(folder, "/".join(group), task, method, settings, number, state, touched, record)


def _record_and_state(folder: Path) -> tuple[Record | None, str]:
    try:
        record = read_record(folder)
    except OtherVersionError as error:
        return None, f"finished, by another version of lra; {error.advice}"
    except UserError:
        return None, "its result.json cannot be read: move it away, and train again"
    return record, _unfinished(folder) if record is None else finished(record)


def finished(record: Record) -> str:
    """Word the state of a finished run."""
    ended = f", ended at step {steps_text(record)}" if "stopped_step" in record.outcome else ""
    return f"finished, {record.test_accuracy:.2%}{ended}"


def _unfinished(folder: Path) -> str:
    total = SETTINGS_FOLDER.fullmatch(folder.parent.name)
    assert total is not None
    at = f"step {last_step(folder):,} of {int(total['steps']):,}"
    failure = read_failure(folder)
    if is_locked(folder):
        return f"running, {at}"
    return f"begun, {at}" if failure is None else f"failed at {at}: {failure.error}"


def last_step(folder: Path) -> int:
    """The largest step of the curves, whose last row may be a test's, of the best step; 0 if there is none.

    A file that is no table has none: training says what is wrong with it.
    """
    if not (folder / METRICS).is_file():
        return 0
    with (folder / METRICS).open(encoding="utf-8", errors="replace") as lines:
        try:
            steps = [row["step"] for row in csv.DictReader(lines) if (row.get("step") or "").isdecimal()]
        except csv.Error:
            return 0
    return max(map(int, steps), default=0)


def method_names(records: Collection[Record]) -> dict[int, str]:
    """Name the method of each record, by the record's id, with the settings that tell it apart from the others."""
    return {
        id(record): name
        for of_group in by_protocol_and_size(records).values()
        for name, members in group_by_variant(of_group).items()
        for record in members
    }


def sorted_states(states: Iterable[RunState]) -> list[RunState]:
    """Sort by group, task, method, settings and seed."""
    return sorted(states, key=lambda each: (each.group, each.task, natural(each.method), each.settings, each.seed))
