"""Mark a failed cell with `failed.json` in its folder; the next success of the cell deletes the file.

A call of `lra table run` retries failures that are older than itself, but not newer ones. A random id, not a time,
tells them apart, because the clocks of machines that share a folder may differ.
"""

import json
import secrets
from pathlib import Path
from typing import NamedTuple

from lra.base.checked_json import parsed_json
from lra.base.files import read_file, replace_text
from lra.base.text import without_credentials
from lra.runs.files import FAILED
from lra.runs.record import move_aside


class Failure(NamedTuple):
    """A failed attempt: its error line, and an id that is different for every failure."""

    error: str
    id: str


def write_failure(folder: Path, error: str) -> None:
    """Write the error line of a failed run into its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    forget_failure(folder)
    failure = {"error": without_credentials(error), "id": secrets.token_hex(8)}
    replace_text(folder / FAILED, json.dumps(failure, indent=2) + "\n")


def read_failure(folder: Path) -> Failure | None:
    """Read the last failure of a run, None if there is none; an unreadable file counts as a failure."""
    path = folder / FAILED
    if not path.exists():
        return None
    text = ""
    try:
        text = read_file(path).decode()
        content = parsed_json(text, path, "")
    except (OSError, ValueError):  # UserError is a ValueError
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("error"), str):
        return Failure(f"it failed, and why cannot be read in {path}", id=text)
    return Failure(without_credentials(content["error"]), id=str(content.get("id", text)))  # older versions wrote no id


def forget_failure(folder: Path) -> None:
    """Delete the mark of an earlier failure, because the run has succeeded."""
    path = folder / FAILED
    if path.is_dir():
        move_aside(path)
    path.unlink(missing_ok=True)
