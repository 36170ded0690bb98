"""The landmark sweep: accuracy, time, memory and error against the number of landmarks."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from lra.results.cells import Cell, make_cell
from lra.results.collect import Record
from lra.results.statistics import sample_std
from lra.results.tables import TextTable, number


@dataclass(frozen=True, kw_only=True)
class Point:
    """One number of landmarks, or exact attention.

    Attributes:
        num_landmarks: M; None for exact attention.
        cell: its seeds together.
        pinv_residual, attention_error: mean over seeds, and standard deviation (None for one seed); None where the
            records have none.
    """

    num_landmarks: int | None
    cell: Cell
    pinv_residual: tuple[float, float | None] | None
    attention_error: tuple[float, float | None] | None


def landmark_points(records: list[Record]) -> list[Point]:
    """Points of one task's records by number of landmarks, exact attention last; other attentions do not count."""
    groups: dict[int | None, list[Record]] = defaultdict(list)
    for record in records:
        identity = record["identity"]
        if identity["attention"] == "nystrom":
            groups[identity["attention_settings"]["num_landmarks"]].append(record)
        elif identity["attention"] == "full":
            groups[None].append(record)
    order = sorted(groups, key=lambda count: float("inf") if count is None else count)
    return [
        Point(
            num_landmarks=count,
            cell=make_cell(groups[count], "paper"),
            pinv_residual=_error(groups[count], "pinv_residual"),
            attention_error=_error(groups[count], "attention_error"),
        )
        for count in order
    ]


def _error(records: list[Record], name: str) -> tuple[float, float | None] | None:
    values = [record["approximation"][name] for record in records if "approximation" in record]
    return (statistics.fmean(values), sample_std(values)) if values else None


def landmark_table(points: list[Point], *, title: str) -> TextTable:
    """One row for each number of landmarks."""
    rows, numbers = [], []
    for point in points:
        cell = point.cell
        rows.append(
            [
                "exact" if point.num_landmarks is None else str(point.num_landmarks),
                str(cell),
                f"{1 / cell.steps_per_second:.3f}",
                f"{cell.peak_memory_bytes / 2**20:,.0f}",
                number(point.pinv_residual and point.pinv_residual[0], 4),
                number(point.attention_error and point.attention_error[0], 3),
            ]
        )
        numbers.append(_numbers(point))
    notes = [
        "value ± standard deviation over seeds (number of seeds); memory: peak of the process.",
        "inverse: ‖AZA − A‖ / ‖A‖ of kernel 2 and its pseudo-inverse; attention: ‖Ŝ − S‖ / ‖S‖ of the approximated and"
        " the exact matrix; trained models on real test batches, means over layers, heads and sequences.",
    ]
    columns = ("landmarks", "accuracy (%)", "s/step", "MiB", "inverse", "attention")
    empty = ["No record yet: lra sweep landmarks makes them."]
    return TextTable(title=title, columns=columns, rows=rows, notes=notes if rows else empty, numbers=numbers)


def _numbers(point: Point) -> dict[str, Any]:
    cell = point.cell
    flat: dict[str, Any] = {
        "num_landmarks": "exact" if point.num_landmarks is None else point.num_landmarks,
        "count": cell.count,
        "mean": cell.mean,
        "std": cell.std,
        "seconds_per_step": 1 / cell.steps_per_second,
        "peak_memory_bytes": cell.peak_memory_bytes,
    }
    for name in ("pinv_residual", "attention_error"):
        found = getattr(point, name)
        flat |= {name: found and found[0], f"{name}_std": found and found[1]}
    return flat
