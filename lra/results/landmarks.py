"""Build the table of a landmark sweep: accuracy, time, memory and error for each number of landmarks."""

import statistics
from dataclasses import dataclass

from lra.results.cells import TableCell, cell_note, make_cell
from lra.results.convergence import convergence_step
from lra.results.statistics import sample_std
from lra.results.tables import TextTable, number
from lra.results.variants import group_by_variant
from lra.runs.flatten_settings import NOT_RECORDED
from lra.runs.schema import Approximation, Record

SWEPT = "attention.num_landmarks"


@dataclass(frozen=True, kw_only=True)
class Point:
    """Results of one variant, named without its number of landmarks, with one such number, or with exact attention.

    Attributes:
        num_landmarks: M; 0 if the records do not hold it, None for exact attention.
        convergence_steps: by seed, the step from which on all dev passes are converged; None for one that did not
            converge. Empty if no record holds its dev curve.
        pinv_residual, attention_error: mean and standard deviation (None for one seed) over seeds; None if no record
            holds the error.
    """

    task: str
    num_landmarks: int | None
    variant: str
    cell: TableCell
    convergence_steps: dict[int, int | None]
    pinv_residual: tuple[float, float | None] | None
    attention_error: tuple[float, float | None] | None


def landmark_points(records: list[Record]) -> list[Point]:
    """Make the points of one task's records: Nyström by variant and landmarks, then exact attention.

    Records of other attentions are ignored.
    """
    points = []
    for name, members in group_by_variant(records, ignored=(SWEPT,)).items():
        counts = {_count(record) for record in members if record["identity"]["attention"] in ("nystrom", "full")}
        for count in counts:
            seeds = [record for record in members if _count(record) == count]
            points.append(
                Point(
                    task=seeds[0]["identity"]["task"],
                    num_landmarks=count,
                    variant=name,
                    cell=make_cell(seeds, "paper"),
                    convergence_steps={
                        record["identity"]["seed"]: convergence_step(record)
                        for record in sorted(seeds, key=lambda record: record["identity"]["seed"])
                        if "dev_curve" in record["outcome"] and "dev_examples" in record["outcome"]
                    },
                    pinv_residual=_error([measured["pinv_residual"] for measured in _measured(seeds)]),
                    attention_error=_error([measured["attention_error"] for measured in _measured(seeds)]),
                )
            )
    return sorted(points, key=lambda point: (point.num_landmarks is None, point.variant, point.num_landmarks or 0))


def _count(record: Record) -> int | None:
    """Read a record's number of landmarks: 0 if it was not recorded, None for exact attention."""
    if record["identity"]["attention"] == "full":
        return None
    return record["settings"].get("attention", {}).get("num_landmarks", 0)


def _measured(records: list[Record]) -> list[Approximation]:
    return [record["approximation"] for record in records if "approximation" in record]


def _error(values: list[float]) -> tuple[float, float | None] | None:
    return (statistics.fmean(values), sample_std(values)) if values else None


def point_name(point: Point) -> str:
    """Name a point's row, such as `64`, `exact`, or `64 (model.num_layers=1)`."""
    count = "exact" if point.num_landmarks is None else str(point.num_landmarks or NOT_RECORDED)
    _, bracket, differences = point.variant.partition(" (")
    return f"{count}{bracket}{differences}"


def landmark_table(points: list[Point], *, title: str) -> TextTable:
    """Build a table with a row for each point."""
    rows, numbers = [], []
    for point in points:
        cell = point.cell
        rows.append(
            [
                point_name(point),
                str(cell),
                ", ".join("–" if step is None else f"{step:,}" for step in point.convergence_steps.values()),
                f"{1 / cell.steps_per_second:.3f}",
                f"{cell.peak_memory_bytes / 2**20:,.0f}",
                number(point.pinv_residual and point.pinv_residual[0], 4),
                number(point.attention_error and point.attention_error[0], 3),
            ]
        )
        numbers.append(_numbers(point))
    legend = cell_note(point.cell for point in points)
    notes = [
        f"{legend}; memory: peak of the process.",
        "converged at step: for each seed, the first dev pass from which on all are converged; –: it did not converge.",
        "inverse: ‖AZA − A‖ / ‖A‖ of kernel 2 and its pseudo-inverse; attention: ‖Ŝ − S‖ / ‖S‖ of the approximated and"
        " the exact matrix; trained models on real test batches, means over layers, heads and sequences.",
    ]
    columns = ("landmarks", "accuracy (%)", "converged at step", "s/step", "MiB", "inverse", "attention")
    if not rows:
        notes = ["No record yet: lra sweep landmarks makes them."]
    return TextTable(
        title=title,
        columns=columns,
        rows=rows,
        notes=notes,
        legend=legend,
        optional=("MiB",),
        numbers=numbers,
    ).without_empty_columns()


def _numbers(point: Point) -> dict[str, object]:
    cell = point.cell
    flat: dict[str, object] = {
        "task": point.task,
        "num_landmarks": "exact" if point.num_landmarks is None else point.num_landmarks,
        "variant": point.variant,
        "count": cell.count,
        "mean": cell.mean,
        "std": cell.std,
        "convergence_steps": " ".join(str(step or "–") for step in point.convergence_steps.values()),
        "seconds_per_step": 1 / cell.steps_per_second,
        "peak_memory_bytes": cell.peak_memory_bytes,
    }
    for name in ("pinv_residual", "attention_error"):
        error = getattr(point, name)
        flat |= {name: error and error[0], f"{name}_std": error and error[1]}
    return flat
