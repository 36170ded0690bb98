"""How the record of a bench, one JSON file, is read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from lra.base.checked_json import checked, parsed_json
from lra.base.files import replace_text
from lra.runs.record import read_text

T = TypeVar("T")
MEASURE_AGAIN = "move it away and measure again"


def read_bench(path: Path, schema: TypeAdapter[T]) -> T:
    """Read and check a record.

    Raises:
        UserError: when the file is no valid record.
    """
    return checked(schema, parsed_json(read_text(path), path, MEASURE_AGAIN), path, MEASURE_AGAIN)


def write_bench(path: Path, schema: TypeAdapter[T], record: T) -> None:
    """Check the record and write it atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = checked(schema, record, path, MEASURE_AGAIN)
    replace_text(path, json.dumps(whole, indent=1, allow_nan=False) + "\n")
