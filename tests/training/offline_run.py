"""Read back what offline W&B runs hold, from their files."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lra.training.curves import COLUMNS
from lra.training.wandb_server_and_files import read_history, read_records, wait_until_written


@dataclass(frozen=True)
class OfflineRun:
    """One `.wandb` file: the run's identity, and all of its records by type."""

    path: Path
    run: Any
    records: list[Any]

    def of_type(self, name: str) -> list[Any]:
        return [getattr(record, name) for record in self.records if record.WhichOneof("record_type") == name]

    @property
    def config(self) -> dict[str, Any]:
        """The configuration after all updates."""
        updates = [item for run in self.of_type("run") for item in run.config.update]
        updates += [item for config in self.of_type("config") for item in config.update]
        named = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in updates}
        return {name: value for name, value in named.items() if name != "_wandb"}

    @property
    def history(self) -> list[dict[str, Any]]:
        return list(read_history(self.path))

    @property
    def summary(self) -> dict[str, Any]:
        updates = [item for summary in self.of_type("summary") for item in summary.update]
        return {item.key or item.nested_key[0]: json.loads(item.value_json) for item in updates}

    @property
    def points(self) -> list[tuple[int, str]]:
        """Step and name of each point of a curve, in the order of steps in the file, then of names."""
        return [
            (row["trainer/global_step"], name) for row in self.history for name in sorted(row.keys() & set(COLUMNS))
        ]

    def artifacts(self, kind: str) -> list[Any]:
        return [artifact for artifact in self.of_type("artifact") if artifact.type == kind]


def offline_runs(runs: Path, *, cut: Collection[Path] = ()) -> list[OfflineRun]:
    """The W&B runs below a folder, in the order in which they were begun; all are finished but those in `cut`."""
    paths = sorted(runs.rglob("wandb/offline-run-*/*.wandb"), key=lambda path: path.parent.name)
    found = []
    for path in paths:
        records = list(read_records(path)) if path in cut else whole(path)
        run = next(record.run for record in records if record.WhichOneof("record_type") == "run")
        found.append(OfflineRun(path, run, records))
    return found


def whole(path: Path, seconds: float = 60) -> list[Any]:
    """The records of a finished run; wandb's own process may still be writing the last ones."""
    assert wait_until_written(path, seconds=seconds), f"{path} was never finished"
    return list(read_records(path))
