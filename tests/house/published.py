"""The published records that the tests of the documents compare with."""

from __future__ import annotations

from lra.results.reading import parse_record
from lra.results.schema import Record
from tests.house.test_floors import ROOT

PUBLISHED = ROOT / "runs/published"


def records(*names: str) -> list[Record]:
    """The records of these published files."""
    files = [PUBLISHED / f"{name}.jsonl" for name in names]
    return [parse_record(line, file.name) for file in files for line in file.read_text().splitlines()]


def by_cell(name: str) -> dict[tuple[str, str, int], Record]:
    """The records of a published file by task, attention (or mixer) and seed."""
    return {
        (record["identity"]["task"], record["identity"]["attention"], record["identity"]["seed"]): record
        for record in records(name)
    }
