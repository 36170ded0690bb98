"""The mark of a cell that failed: `failed.json` in its folder, gone with its first success."""

from __future__ import annotations

import json
import time
from pathlib import Path

from lra.files import replace_text

FILE = "failed.json"


def write_failure(folder: Path, error: str) -> None:
    """Note why a run failed, and when."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(folder / FILE, json.dumps({"error": error, "at": time.time()}, indent=2) + "\n")


def read_failure(folder: Path) -> tuple[str, float] | None:
    """Error and time (seconds since 1970) of the last failure; None without one."""
    path = folder / FILE
    if not path.exists():
        return None
    said = json.loads(path.read_text())
    return str(said["error"]), float(said["at"])


def forget_failure(folder: Path) -> None:
    """The run has succeeded."""
    (folder / FILE).unlink(missing_ok=True)
