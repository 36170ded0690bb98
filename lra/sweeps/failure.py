"""The mark of a cell that failed: `failed.json` in its folder, gone with its first success.

Whether a failure is an old one, to be tried again, or one of the runners that are at work now, is told by its id and
not by a time: runners of one folder may be on machines whose clocks differ.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import NamedTuple

from lra.files import replace_text
from lra.results.record import move_aside
from lra.run_files import FAILED


class Failure(NamedTuple):
    """Why a run failed, in one line, and what tells this failure from every other."""

    error: str
    id: str


def write_failure(folder: Path, error: str) -> None:
    """Note why a run failed."""
    folder.mkdir(parents=True, exist_ok=True)
    forget_failure(folder)
    replace_text(folder / FAILED, json.dumps({"error": error, "id": secrets.token_hex(8)}, indent=2) + "\n")


def read_failure(folder: Path) -> Failure | None:
    """The last failure; None without one. A mark that cannot be read is a failure too, and says so."""
    path = folder / FAILED
    if not path.exists():
        return None
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        said = json.loads(text)
    except (OSError, ValueError):
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("error"), str):
        return Failure(f"it failed, and why cannot be read in {path}", id=text)
    return Failure(said["error"], id=str(said.get("id", text)))  # a mark without an id is an older version's


def forget_failure(folder: Path) -> None:
    """The run has succeeded."""
    path = folder / FAILED
    if path.is_dir():
        move_aside(path)
    path.unlink(missing_ok=True)
