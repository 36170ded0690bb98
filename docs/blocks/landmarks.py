"""Blocks on sweeps over the number of landmarks of Nyström attention."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from docs.blocks.markdown import prose, table, table_printed, verdict
from docs.blocks.published import records
from lra.results.cells import make_cell
from lra.results.landmarks import landmark_points, point_name
from lra.results.rank_tests import kendall
from lra.results.schema import Record
from lra.results.tables import MISSING, number

PATHFINDER = "sweep landmarks show run_group=published/short_landmarks.jsonl size=short task=pathfinder"


def pathfinder() -> str:
    """The sweep on the short Pathfinder, and whether accuracy and error have the same order."""
    points = [point for point in landmark_points(records("short_landmarks")) if point.attention_error is not None]
    errors = [point.attention_error[0] for point in points if point.attention_error is not None]
    tau, p_value = kendall([point.cell.mean for point in points], errors)
    said = prose(
        f"Kendall's rank correlation of accuracy and *attention* over the {len(points)} numbers of landmarks:"
        f" τ {number(tau, sign=True)}, {verdict(p_value, '.2f')}"
    )
    return f"{table_printed(PATHFINDER)()}\n\n{said}"


def with_and_without_skip() -> str:
    """The sweep on the short ListOps: accuracy and convergence steps with and without the value skip."""
    found: dict[bool, list[Record]] = defaultdict(list)
    for record in records("short_landmarks_listops_600"):
        found[_has_skip(record)].append(record)
    rows: dict[tuple[float, str], dict[bool, tuple[str, str]]] = defaultdict(dict)
    for skip, members in found.items():
        for point in landmark_points(members):
            place = math.inf if point.num_landmarks is None else point.num_landmarks
            steps = [MISSING if step is None else str(step) for step in point.convergence_steps.values()]
            rows[place, point_name(point)][skip] = str(point.cell), ", ".join(steps)
    columns = ("landmarks", "with the value skip (%)", "converged at step", "without it (%)", "converged at step")
    none = (MISSING, MISSING)
    return table(
        columns, [(name, *row.get(True, none), *row.get(False, none)) for (_, name), row in sorted(rows.items())]
    )


def others() -> str:
    """Sweeps with few seeds: a row for each task, number of steps, with and without the value skip."""
    found: dict[tuple[str, int, bool], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records("short_landmarks_listops", "short_landmarks_no_skip"):
        row = found[record["identity"]["task"], record["outcome"]["steps"], _has_skip(record)]
        row[record["settings"]["attention"]["num_landmarks"]].append(record)
    counts = sorted({count for row in found.values() for count in row})
    rows = [
        (
            task,
            f"{steps:,}",
            "yes" if skip else "no",
            *(str(make_cell(row[count], "paper")) if count in row else MISSING for count in counts),
        )
        for (task, steps, skip), row in sorted(found.items())
    ]
    return table(("task", "steps", "value skip", *(f"{count} landmarks" for count in counts)), rows)


def _has_skip(record: Record) -> bool:
    attention: Mapping[str, Any] = record["settings"]["attention"]
    return bool(attention.get("value_skip_taps"))
