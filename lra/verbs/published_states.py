"""The runs in files of published records, which are finished and have no folder here."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from lra.results.run_states import RunState, finished, method_names, sorted_states
from lra.runs.collect import PUBLISHED, collect, finished_at
from lra.runs.schema import Record


def published_states(place: Path) -> tuple[list[RunState], list[str]]:
    """Read the records in a file, or in the files below a folder.

    Returns:
        The runs, and a line for each record that is left out because it is broken or older than another of its run.
    """
    states: list[RunState] = []
    troubles: list[str] = []
    for file in sorted(place.rglob(f"*{PUBLISHED}")) if place.is_dir() else [place]:
        collection = collect(file)
        names = method_names(collection.records)
        states += [_state(record, names[id(record)], file) for record in collection.records]
        troubles += collection.troubles
    return sorted_states(states), troubles


def _state(record: Record, method: str, source: Path) -> RunState:
    identity = record["identity"]
    steps, config_hash = record["outcome"]["steps"], record["provenance"]["config_hash"]
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
