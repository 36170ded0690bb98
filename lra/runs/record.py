"""Write, read and check the record of a run, from which every table is made. A record may come from anywhere.

What a record holds is declared in `schema.py`; `lra/verbs/train_record.py` fills it.
"""

import base64
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lra.base.checked_json import checked
from lra.base.files import replace_text
from lra.base.printed_commands import shell_command
from lra.runs.files import RESULT
from lra.runs.schema import MIXERS, RECORD, SCHEMA_VERSION, Record, RecordFields, method_of
from lra.runs.settings_hash import hash_of
from lra.types import UserError

LAST_VERSION = 1000  # largest schema version that is taken for one of a later lra
READS_EARLIER = "1c9c07f"  # the last commit that reads the schema versions 1 and 2
DEEPEST = 20  # largest depth of nesting in a record
ROUNDING = 1e-5  # tolerance for an accuracy that was computed in float32
REMEDY = "mend it, or move it away and run again"
MOST_RECORD_BYTES = 256 << 20


def pack_correct(correct: np.ndarray) -> str:
    """Pack booleans `[examples]`, in the split's order, into bits, and encode the bytes in base64."""
    return base64.b64encode(np.packbits(correct.astype(bool)).tobytes()).decode("ascii")


def unpack_correct(text: str, count: int) -> np.ndarray:
    """Decode the text of `pack_correct` to `count` booleans.

    Raises:
        ValueError: when the text is not base64, or its length does not fit `count` examples.
    """
    octets = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    if len(octets) != -(-count // 8):
        raise ValueError(f"{len(octets)} bytes cannot hold the correctness of {count} examples")
    return np.unpackbits(octets, count=count).astype(bool)


class OtherVersionError(UserError):
    """Raised for a record of another schema version: the run has a result, but this version of lra cannot read it.

    `advice` says what reads it.
    """

    def __init__(self, location: object, version: int):
        of, self.advice = "a later lra", "update this one"
        if version < SCHEMA_VERSION:
            of, self.advice = "an earlier lra", f"lra at commit {READS_EARLIER} reads it"
        super().__init__(f"{location} is a record of schema version {version}, of {of}; {self.advice}")


def parse_record(text: str, location: object) -> Record:
    """Parse and check a record; `location` is the file, or the place in it, for errors."""
    return validated(parse_json(text, location), location)


def parse_json(text: str, location: object) -> Any:
    """Parse JSON strictly: NaN, infinity, broken Unicode and very deep nesting are refused.

    Raises:
        UserError: when the text is no such JSON.
    """
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()  # refuses NaN, infinity, single surrogates
        if _depth(value) > DEEPEST:  # so that recursive functions on a record cannot overflow the stack
            raise ValueError(f"nested deeper than {DEEPEST}")
    except (ValueError, RecursionError) as error:
        raise UserError(f"{location} is not JSON ({error}); {REMEDY}", kind="no_json", key=str(location)) from error
    return value


def validated(value: object, location: object) -> Record:
    """Check a record, parsed from JSON.

    Raises:
        UserError: when the value is no valid record.
        OtherVersionError: for a record of another schema version.
    """
    version = value.get("schema_version") if isinstance(value, dict) else None
    if type(version) is not int or not 1 <= version <= LAST_VERSION:
        raise UserError(f"{location} is not a record of schema version {SCHEMA_VERSION}; {REMEDY}")
    if version != SCHEMA_VERSION:
        raise OtherVersionError(location, version)
    fields: RecordFields = checked(RECORD, value, location, REMEDY)
    record = Record(fields)
    contradiction = next(_contradictions(record), None)
    if contradiction:
        raise UserError(f"{location}: {contradiction}; {REMEDY}")
    return record


NAMED: tuple[Literal["task", "protocol", "size"], ...] = ("task", "protocol", "size")


def _contradictions(record: Record) -> Iterator[str]:
    """Word the contradictions between fields of a record."""
    identity, settings, outcome = record.identity, record.settings, record.outcome
    groups = [group for group in MIXERS if group in settings]
    if len(groups) != 1:
        yield f"settings has {' and '.join(groups) or 'neither attention nor mixer'}, where one of the two belongs"
        return
    pairs = [(key, identity[key], settings[key]["name"]) for key in NAMED]
    for key, identity_name, name in (*pairs, ("attention", identity["attention"], method_of(settings))):
        if identity_name != name:
            yield f"identity.{key}={identity_name!r}, but settings name it {name!r}"
    steps = settings["recipe"]["steps"] if "recipe" in settings else outcome["steps"]
    if outcome["steps"] != steps or not outcome["best_step"] <= outcome.get("stopped_step", steps) <= steps:
        yield f"outcome.steps={outcome['steps']}, best_step={outcome['best_step']}, but settings.recipe.steps={steps}"
    if "dev_curve" in outcome:
        passes, accuracies = outcome["dev_curve"]["step"], outcome["dev_curve"]["accuracy"]
        if len(passes) != len(accuracies) or any(step >= after for step, after in pairwise([*passes, steps + 1])):
            yield f"outcome.dev_curve: its {len(passes)} steps do not grow up to {steps}, or are not one per accuracy"
    if record.get("migrated_from") != 1 and hash_of(settings) != record.config_hash:
        yield f"provenance.config_hash={record.config_hash!r} is not that of settings"
    if "test_correct" in outcome:
        try:
            right = unpack_correct(outcome["test_correct"], outcome["test_examples"]).mean()
        except ValueError as error:
            yield f"outcome.test_correct: {error}"
            return
        if abs(right - outcome["test_accuracy"]) > ROUNDING:
            yield f"outcome.test_accuracy={outcome['test_accuracy']}, but test_correct has {right:.6f}"


def _depth(value: object) -> int:
    """Count the levels of nesting in a value from JSON, its own among them."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 1


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
    aside = _free_path(path)
    os.rename(path, aside)
    return aside


def _free_path(path: Path) -> Path:
    """Choose the first free name of `NAME.broken-1`, `NAME.broken-2` …"""
    paths = (path.with_name(f"{path.name}.broken-{number}") for number in itertools.count(1))
    return next(free for free in paths if not os.path.lexists(free))


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
        move = shell_command("mv", path, _free_path(path))
        raise error.reworded(f"{error}: {move}") from error


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
