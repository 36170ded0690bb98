"""Mark accuracies whose data is not the published archive's, and leave out what is no result of a task."""

from __future__ import annotations

from collections.abc import Iterable

from lra.results.cells import TableCell
from lra.runs.schema import Record

MARKS = {"official": "", "unverified": "†", "generated": "‡", "stand-in": "§", "own": ""}
MEANINGS = {
    "unverified": "† data not from the published archive",
    "generated": "‡ data made by our own generator",
    "stand-in": "§ placeholder data: no result of that task",
}


def without_stand_ins(records: Iterable[Record]) -> list[Record]:
    """Leave out runs of `size=full` on placeholder data."""
    return [
        record
        for record in records
        if record["identity"]["size"] != "full" or record["provenance"]["data_origin"] != "stand-in"
    ]


def marked(cell: TableCell) -> str:
    """Write a cell with the marks of its data, such as `37.00 ± 1.00 (3)‡`."""
    return str(cell) + "".join(sorted(MARKS[origin] for origin in cell.origins))


def origin_notes(records: list[Record], *, left_out: int) -> list[str]:
    """Say what the marks of some records mean, and how many runs were left out."""
    origins = sorted({record["provenance"]["data_origin"] for record in records} & set(MEANINGS), key=[*MEANINGS].index)
    notes = [f"{'; '.join(MEANINGS[origin] for origin in origins)}."] if origins else []
    return notes + ([f"{left_out} records on placeholder data are left out."] if left_out else [])
