"""Read back what offline W&B runs hold, from their files.

Such a file is a header and LevelDB's log format (github.com/google/leveldb, doc/log_format.md): pieces of records, each
with checksum, size and kind, which do not cross the end of a block. A record is a protobuf message of W&B's own.
"""

import json
import struct
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lra.training.curves import COLUMNS

HEADER_BYTES = 7  # of a file, and of each piece of a record
BLOCK_BYTES = 32768
ONLY_PIECE, LAST_PIECE = 1, 4  # kinds of pieces of a record; 2 is the first of several, 3 one between


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
        rows = [record.item for record in self.of_type("history")]
        return [{item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in row} for row in rows]

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
    end = time.monotonic() + seconds
    while True:
        records = list(read_records(path)) if path.exists() else []
        if any(record.WhichOneof("record_type") == "exit" for record in records):
            return records
        assert time.monotonic() < end, f"{path} was never finished"
        time.sleep(0.05)


def read_records(path: Path) -> Iterator[Any]:
    """The whole records of a file, whose end may be missing."""
    from wandb.proto.wandb_internal_pb2 import Record

    raw, at, message = path.read_bytes(), HEADER_BYTES, b""
    while at + HEADER_BYTES <= len(raw):
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < HEADER_BYTES:  # the end of a block is filled up
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", raw[at : at + HEADER_BYTES])
        at += HEADER_BYTES + size
        if not ONLY_PIECE <= kind <= LAST_PIECE or at > len(raw):
            return
        message += raw[at - size : at]
        if kind in (ONLY_PIECE, LAST_PIECE):
            yield Record.FromString(message)
            message = b""
