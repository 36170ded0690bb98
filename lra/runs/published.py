"""Append to a file of published records, one record a line; several processes may do so at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from lra.base.files import replace_text
from lra.runs.collect import records_in
from lra.runs.record import read_text
from lra.runs.schema import Record
from lra.types import UserError


def append_new(target: Path, choose: Callable[[list[Record]], list[Record]]) -> int:
    """Append records to a file atomically, under a lock, and return their number.

    Args:
        target: the file; it is made with its folder if it does not exist. Lines that are no record are kept.
        choose: gets the records in the file, and returns the records to append.

    Raises:
        UserError: when the file cannot be read as text.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_name(f".{target.name}.lock")):
        before = read_text(target) if target.exists() else ""
        new = choose([record for *_, record in records_in(target) if not isinstance(record, UserError)])
        if new:
            whole = before if not before or before.endswith("\n") else f"{before}\n"
            replace_text(target, whole + "".join(json.dumps(record) + "\n" for record in new))
    return len(new)
