"""The record of a run: one `result.json`, from which every table is made."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from lra.types import UserError

SCHEMA_VERSION = 1
FILE = "result.json"
SECTIONS = {
    "identity": ("task", "attention", "attention_settings", "protocol", "size", "seed", "run_group"),
    "outcome": ("test_accuracy", "test_examples", "best_dev_accuracy", "best_step", "steps", "majority_rate"),
    "cost": ("parameters", "train_seconds", "steps_per_second", "peak_memory_bytes", "device", "precision"),
    "provenance": ("config_hash", "data_sha256", "data_origin", "versions", "finished_at"),
}
PACKAGES = ("lra", "torch", "pytorch-lightning", "torchmetrics", "hydra-core", "numpy")


def write_record(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write `folder/result.json` in one step; returns the record with its schema version."""
    record = validated({"schema_version": SCHEMA_VERSION, **record}, folder / FILE)
    replace_text(folder / FILE, json.dumps(record, indent=2) + "\n")
    return record


def replace_text(path: Path, text: str) -> None:
    """Write a file so that, after a kill, there is the old one or the new one, whole; after an error, the old one."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def move_aside(path: Path) -> Path:
    """Rename what is broken to the first free name of `NAME.broken-1`, `-2` …, which it gives; nothing is deleted."""
    places = (path.with_name(f"{path.name}.broken-{number}") for number in itertools.count(1))
    aside = next(place for place in places if not os.path.lexists(place))
    os.rename(path, aside)
    return aside


def read_record(folder: Path) -> dict[str, Any] | None:
    """The record in a run's folder; None when the run has not finished.

    Raises:
        UserError: when the file is no record of this version.
    """
    path = folder / FILE
    if not path.exists():
        return None
    return parse_record(path.read_text(), path)


def parse_record(text: str, place: object) -> dict[str, Any]:
    """The record that `text` is.

    Raises:
        UserError: when it is none; the line names `place`.
    """
    try:
        record = json.loads(text)
    except ValueError as error:
        raise UserError(f"{place} is not JSON ({error}); move it away and run again") from error
    return validated(record, place)


def validated(record: Any, place: object) -> dict[str, Any]:
    """The record itself, if it is one of this schema version with every key and an accuracy that can be one.

    Raises:
        UserError: else; the line names `place` and what is wrong.
    """
    if not isinstance(record, dict) or record.get("schema_version") != SCHEMA_VERSION:
        raise UserError(f"{place} is not a record of schema version {SCHEMA_VERSION}")
    for section, keys in SECTIONS.items():
        content = record.get(section)
        missing = keys if not isinstance(content, dict) else [key for key in keys if key not in content]
        if missing:
            raise UserError(f"{place} lacks {section}.{missing[0]}")
    for key in ("test_accuracy", "best_dev_accuracy", "majority_rate"):
        share = record["outcome"][key]
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
            raise UserError(f"{place}: outcome.{key}={share!r} is not a share in [0, 1]")
    return record


def versions() -> dict[str, str]:
    """Versions of what moves a number, Python and platform."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES if _installed(name)}
    return {"python": platform.python_version(), "platform": platform.platform(), **found}


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def git_commit() -> str | None:
    """Commit of the source tree, with `-dirty` after it if files differ; None when installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
