"""Records from folders of runs and from files of published records; broken ones are named, never used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lra.results.record import FILE, parse_record
from lra.types import UserError

Record = dict[str, Any]


@dataclass
class Collection:
    """Records, each of another run, and a line for each that was left out.

    Attributes:
        records: in the order of their identity.
        sources: the file in which each stands.
        troubles: what was left out, and why.
    """

    records: list[Record] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def collect(place: Path) -> Collection:
    """Every record below a folder (`result.json`, `*.jsonl`), or in one such file.

    Of two records of one run (same settings, same seed) the later one counts; the other is named, unless they are the
    very same. A run that was moved aside by `force=true` is an old one and does not count.
    """
    found = Collection()
    latest: dict[tuple[object, ...], tuple[Record, Path]] = {}
    for path, where, text in _texts(place):
        try:
            record = parse_record(text, where)
        except UserError as error:
            found.troubles.append(f"left out: {error}")
            continue
        key = run_key(record)
        other = latest[key][0] if key in latest else None
        if other is not None and other != record:
            found.troubles.append(f"two records of {describe(record)}: the later one counts ({where})")
        if other is None or finished_at(record) >= finished_at(other):
            latest[key] = (record, path)
    ordered = sorted(latest.values(), key=lambda found: json.dumps(run_key(found[0])))
    found.records, found.sources = [record for record, _ in ordered], [path for _, path in ordered]
    return found


def run_key(record: Record) -> tuple[object, ...]:
    """What makes two records those of one run: settings and seed."""
    identity = record["identity"]
    return (identity["task"], identity["attention"], record["provenance"]["config_hash"], identity["seed"])


def finished_at(record: Record) -> str:
    """When the run finished, ISO 8601 in UTC, so that text order is time order."""
    return str(record["provenance"]["finished_at"])


def describe(record: Record) -> str:
    """A run in a few words."""
    identity = record["identity"]
    settings = f"{identity['protocol']['name']}, {identity['size']}, {record['provenance']['config_hash']}"
    return f"{identity['task']}/{identity['attention']} seed {identity['seed']} ({settings})"


def _texts(place: Path) -> Iterator[tuple[Path, str, str]]:
    """The file of each record, where in it it stands, and its JSON text."""
    if place.is_file():
        files = [place]
    else:
        files = sorted(path for path in place.rglob("*") if path.name == FILE or path.suffix == ".jsonl")
    for path in files:
        if ".replaced-" in path.parent.name:
            continue
        if path.suffix != ".jsonl":
            yield path, str(path), path.read_text()
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if '"identity"' in line or not line.startswith("{"):  # other measurements lie there too: speeds, stores
                yield path, f"{path}, line {number},", line
