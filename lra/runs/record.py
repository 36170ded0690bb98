"""Write and read the record of a run: its `result.json`, from which every table is made."""

from __future__ import annotations

import itertools
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from lra.base.files import replace_text
from lra.runs.files import RESULT
from lra.runs.reading import REMEDY, OtherVersionError, parse_record, validated
from lra.runs.schema import SCHEMA_VERSION, Record
from lra.types import UserError

MOST_RECORD_BYTES = 256 << 20


def write_record(folder: Path, record: Mapping[str, object]) -> Record:
    """Check a record, write it atomically to `folder/result.json`, and return it with its schema version.

    Raises:
        UserError: when the record is not valid.
    """
    whole = validated({**record, "schema_version": SCHEMA_VERSION}, folder / RESULT)
    replace_text(folder / RESULT, json.dumps(whole, indent=2, allow_nan=False) + "\n")
    return whole


def move_aside(path: Path) -> Path:
    """Rename a broken file to the first free name of `NAME.broken-1`, `NAME.broken-2` …, and return the new path."""
    places = (path.with_name(f"{path.name}.broken-{number}") for number in itertools.count(1))
    aside = next(place for place in places if not os.path.lexists(place))
    os.rename(path, aside)
    return aside


def read_record(folder: Path) -> Record | None:
    """Read the record in a run's folder; None if the run is not finished.

    Raises:
        UserError: when the file is no valid record.
        OtherVersionError: for a record of another schema version.
    """
    path = folder / RESULT
    if not os.path.lexists(path):
        return None
    try:
        return parse_record(read_text(path), path)
    except OtherVersionError:
        raise
    except UserError as error:
        aside = shlex.quote(f"{path}.broken")
        raise error.reworded(f"{error}: mv {shlex.quote(str(path))} {aside}") from error


def read_text(path: Path) -> str:
    """Read the text of a file of records.

    Raises:
        UserError: when the file is not regular, too large, not readable or not UTF-8.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file; {REMEDY}")
    try:
        if path.stat().st_size > MOST_RECORD_BYTES:
            most_mib = MOST_RECORD_BYTES >> 20
            raise UserError(f"{path} is larger than {most_mib} MiB, which no file of records is; {REMEDY}")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; {REMEDY}", kind="no_text", key=str(path)) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); {REMEDY}") from error
