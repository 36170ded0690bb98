"""Collect records from folders of runs and files of published records, and append to such a file."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lra.base.files import paths_below, replace_text
from lra.base.text import visible
from lra.runs.files import RESULT
from lra.runs.groups import PUBLISHED
from lra.runs.record import parse_json, read_text, validated
from lra.runs.schema import Record
from lra.runs.settings_hash import hash_of
from lra.types import UserError

__all__ = ["Collection", "Record", "collect", "data_of", "describe", "finished_at", "records_in", "run_key"]


@dataclass
class Collection:
    """One record for each run, sorted by task, attention, settings and seed, with its file.

    `problems` has a line for records that were left out, with the reason; `left_out` counts these records.
    """

    records: list[Record] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left_out: int = 0


def collect(source: Path, *, separate_run_groups: bool = False, containing: str = "") -> Collection:
    """Collect all records below a folder (`result.json`, `*.jsonl`), or in one such file.

    If two different records belong to the same run (same settings, data and seed), one counts, and the others are
    reported: a record in a run's own folder counts before one in a file of published records; of two such files the one
    with more records counts, because a row should come from one file; else the later record counts. Runs that
    `force=true` has replaced are ignored. With `separate_run_groups` runs of different run groups are different runs.
    Only records with the text `containing`, such as the hash of some settings, are read, which saves time.

    Raises:
        UserError: when a `*.jsonl` file is not there. A folder may be missing: it has no record yet.
    """
    if source.suffix == PUBLISHED and not source.exists():
        line = f"{source} is not there; published records are listed by: lra show runs run_group=published"
        raise UserError(line, kind="missing_file", key=str(source))
    collection = Collection()
    of_run: dict[tuple[object, ...], list[_Candidate]] = defaultdict(list)
    sizes: Counter[Path] = Counter()
    for path, where, record in records_in(source, containing):
        sizes[path] += path.suffix == PUBLISHED
        if record is None:
            continue
        if isinstance(record, UserError):
            collection.problems.append(visible(f"left out: {record}"))
            continue
        key = (*run_key(record), record.run_group if separate_run_groups else None)
        of_run[key].append(_Candidate(record, path, where))
    skipped: dict[tuple[Path, Path], list[tuple[_Candidate, _Candidate]]] = defaultdict(list)
    for key in sorted(of_run, key=json.dumps):
        candidates = of_run[key]
        used = max(
            reversed(candidates),
            key=lambda one: (one.path.suffix != PUBLISHED, sizes[one.path], finished_at(one.record)),
        )
        collection.records.append(used.record)
        collection.sources.append(used.path)
        for candidate in candidates:
            if candidate.record != used.record:
                skipped[candidate.path, used.path].append((candidate, used))
    collection.left_out = len(collection.problems) + sum(map(len, skipped.values()))
    collection.problems += map(_skipped, skipped.values())
    return collection


class _Candidate(NamedTuple):
    """A record, its file, and its place in words."""

    record: Record
    path: Path
    where: str


def _skipped(pairs: list[tuple[_Candidate, _Candidate]]) -> str:
    """Word that records of a file do not count, because other ones of the same runs do, all of another file."""
    (skipped, counts), *others = pairs
    text = f"1 duplicate record skipped, {skipped.where}: {counts.where} has another of {describe(counts.record)}"
    if others:
        of_file = f"{len(pairs)} duplicate records skipped in {skipped.path}"
        text = f"{of_file}: those of the same runs in {counts.path} count"
    return visible(text)


def records_in(source: Path, containing: str = "") -> Iterator[tuple[Path, str, Record | UserError | None]]:
    """Yield for each record its file, its place in words, and itself or its error; None for one without the text."""
    if source.is_dir():
        files = [path for path in sorted(paths_below(source)) if path.name == RESULT or path.suffix == PUBLISHED]
    else:
        files = [source] if source.exists() else []
    for path in files:
        if ".replaced-" in path.parent.name:
            continue
        published = path.suffix == PUBLISHED
        try:
            lines = read_text(path).split("\n") if published else [read_text(path)]
        except UserError as error:
            yield path, str(path), error
            continue
        for number, line in enumerate(lines, start=1):
            where = f"{path}, line {number}" if published else str(path)
            if containing not in line:
                if '"identity"' in line:
                    yield path, where, None
                continue
            try:
                value = parse_json(line, where) if line.strip() or not published else {}
                if published and isinstance(value, dict) and not value.keys() & {"identity", "outcome"}:
                    continue  # files of published records also hold other measurements, such as speeds
                yield path, where, validated(value, where)
            except UserError as error:
                yield path, where, error


def run_key(record: Record) -> tuple[object, ...]:
    """Build the key that records of the same run share: settings, data and seed."""
    identity, config_hash = record.identity, record.config_hash
    names = (identity["task"], identity["attention"], config_hash, identity["seed"])
    return (*names, hash_of(record.settings), data_of(record))


def data_of(record: Record) -> str:
    """Hash the checksums of a record's data to eight hex digits; equal data has an equal hash."""
    return hash_of(record.provenance["data_sha256"])


def finished_at(record: Record) -> str:
    """Return the time when the run finished, as ISO 8601 in UTC: sorting the texts sorts the times."""
    return record.provenance["finished_at"]


def describe(record: Record) -> str:
    """Describe a run in a few words."""
    identity = record.identity
    settings = f"{identity['protocol']}, {identity['size']}, {record.config_hash}"
    return visible(f"{identity['task']}/{identity['attention']} seed {identity['seed']} ({settings})")


def append_new(target: Path, choose: Callable[[list[Record]], list[Record]]) -> int:
    """Append records to a file atomically, under a lock, and return their number; file and folder are made if missing.

    `choose` gets the records in the file, and returns those to append. Lines that are no record are kept.
    """
    from lra.base.file_lock import file_lock  # here: no table needs its import of filelock

    target.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(target.with_name(f".{target.name}.lock")):
        before = read_text(target) if target.exists() else ""
        new = choose([record for *_, record in records_in(target) if isinstance(record, dict)])
        if new:
            whole = before if not before or before.endswith("\n") else f"{before}\n"
            replace_text(target, whole + "".join(json.dumps(record) + "\n" for record in new))
    return len(new)
