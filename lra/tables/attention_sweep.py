"""A sweep over one number of an attention: its points, and the table of them.

Beside them are attentions without this number, such as exact attention, which figures show as lines. A sweep over the
width of local attention tells how long the range of a task is, that is how wide that must be to gain what exact
attention gains: most of the accuracy may come from near positions (Miralles-González et al. 2025, arXiv 2501.14850).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from lra.base.spread import sample_std
from lra.base.text import MISSING, number
from lra.runs.convergence import convergence_step, has_judged_curve
from lra.runs.flat_settings import NOT_RECORDED
from lra.runs.schema import Record
from lra.tables.cells import Row, TableCell, cell_note, make_rows
from lra.tables.statistics.estimators import CONFIDENCE, student, welch
from lra.tables.task_statistics import NO_ATTENTION, other_settings_by_record
from lra.terminal.text_table import TextTable

EXACT = "full"
WHOLE = math.inf  # the width of exact attention: the sequence
SHARE = 0.95  # of the gain of exact attention over no mixing
ERRORS = 2.0  # standard errors that this gain must exceed
RANGE_NOTE = (
    f"Range [low, high]: the narrowest width with {SHARE:.0%} of what exact attention gains over none, and its"
    f" {CONFIDENCE:.0%} interval; gain ± standard error. Whether these tasks have a long one: arXiv 2501.14850."
).replace("%", " %")


@dataclass(frozen=True, kw_only=True)
class SweptNumber:
    """What `lra sweep NAME` varies.

    Attributes:
        attention, option: the option `attention.OPTION` of `attention=ATTENTION`.
        beside: the attentions that have no such number, in the order of the table.
        head: names the number in tables and figures.
        approximates: whether the trained models' errors against exact attention are measured.
    """

    name: str
    attention: str
    option: str
    beside: tuple[str, ...]
    head: str
    approximates: bool

    @property
    def key(self) -> str:
        """The option's dotted key."""
        return f"attention.{self.option}"


LANDMARKS = SweptNumber(
    name="landmarks", attention="nystrom", option="num_landmarks", beside=(EXACT,),
    head="landmarks", approximates=True,
)  # fmt: skip
WINDOW = SweptNumber(
    name="window", attention="local", option="block_length", beside=(NO_ATTENTION, "average", EXACT),
    head="width", approximates=False,
)  # fmt: skip
MeanAndStd = tuple[float, float | None]  # over seeds; no deviation of one
SWEEPS = {swept.name: swept for swept in (LANDMARKS, WINDOW)}


@dataclass(frozen=True, kw_only=True)
class Point:
    """The seeds of a row that have one number, or all of an attention without it.

    Attributes:
        row: a row of all numbers, which its name leaves out.
        cell: the seeds.
        number: of landmarks, say; 0 if the records do not hold it, None for an attention without it.
        other_settings: those that tell its row from others and that are not the attention's.
    """

    row: Row
    cell: TableCell
    number: int | None
    other_settings: str

    @property
    def task(self) -> str:
        """The task."""
        return self.cell.task

    @property
    def variant(self) -> str:
        """The name of the row."""
        return self.row.name

    @property
    def method(self) -> str:
        """The attention."""
        return self.row.method

    @cached_property
    def convergence_steps(self) -> dict[int, int | None]:
        """By seed, the step at which it converged; None for one that did not. Empty without dev curves."""
        seeds = sorted(self.cell.records, key=lambda record: record.seed)
        return {record.seed: convergence_step(record) for record in seeds if has_judged_curve(record)}

    @property
    def pinv_residual(self) -> MeanAndStd | None:
        """Mean and standard deviation (None for one seed) over seeds; None if no record holds it."""
        return _error(self.cell.records, "pinv_residual")

    @property
    def attention_error(self) -> MeanAndStd | None:
        """Mean and standard deviation (None for one seed) over seeds; None if no record holds it."""
        return _error(self.cell.records, "attention_error")

    @property
    def name(self) -> str:
        """Name of the point's row, such as `64`, `exact`, or `64 (model.num_layers=1)`."""
        method = "exact" if self.method == EXACT else self.method
        _, bracket, differences = self.variant.partition(" (")
        return f"{method if self.number is None else self.number or NOT_RECORDED}{bracket}{differences}"


def sweep_points(records: list[Record], swept: SweptNumber) -> list[Point]:
    """Make the points of one task's records: by variant and number, then those of the attentions without the number.

    Records of other attentions are ignored.
    """
    order = (swept.attention, *swept.beside)
    records = [record for record in records if record.method in order]
    others, points = other_settings_by_record(records), []
    for row in make_rows(records, ignored=(swept.key,)):
        for count in {_number(record, swept) for record in row.records}:
            seeds = [record for record in row.records if _number(record, swept) == count]
            other = others[id(seeds[0])]
            points.append(Point(row=row, cell=TableCell(seeds), number=count, other_settings=other))
    return sorted(points, key=lambda point: (order.index(point.method), point.variant, point.number or 0))


def _number(record: Record, swept: SweptNumber) -> int | None:
    """Read a record's number: 0 if it was not recorded, None for an attention that has none."""
    if record.method != swept.attention:
        return None
    number = record.settings.get("attention", {}).get(swept.option, 0)
    return number if isinstance(number, int) else 0


def _error(records: list[Record], name: Literal["pinv_residual", "attention_error"]) -> MeanAndStd | None:
    values = [record.approximation[name] for record in records if record.approximation is not None]
    return (statistics.fmean(values), sample_std(values)) if values else None


@dataclass(frozen=True, kw_only=True)
class Range:
    """The narrowest width with `SHARE` of what exact attention gains over `none`; `WHOLE` if no width that was tried.

    Attributes:
        width: None where the gain is no basis for it, and `why` says so.
        low, high: its confidence interval.
        gain, error: of exact attention over `none`, and its standard error, in points; None with too few seeds.
    """

    width: float | None = None
    low: float | None = None
    high: float | None = None
    gain: float | None = None
    error: float | None = None
    why: str = ""

    @property
    def shown(self) -> str:
        """The width with its interval, `16 [4, exact]`, or `–`."""
        if self.width is None:
            return MISSING
        width, low, high = map(width_name, (self.width, self.low, self.high))
        return f"{width} [{low}, {high}]"

    def __str__(self) -> str:
        """Word it: `16 [4, exact]; …`, or `–` and why."""
        if self.width is None:
            return f"{self.shown} ({self.why})"
        return f"{self.shown}; exact attention gains {number(self.gain)} ± {number(self.error)} points over none"


def width_name(width: float | None) -> str:
    """Write a width; `exact` stands for that of exact attention, nothing for none."""
    return "" if width is None else "exact" if width == WHOLE else f"{width:.0f}"


def attention_range(none: Sequence[float], exact: Sequence[float], widths: Mapping[int, Sequence[float]]) -> Range:
    """Compute the range from the accuracies of each seed, in percent: of `none`, of exact attention, by width.

    A width is in the interval unless Welch's t test says, two-sided, that it and all narrower ones have less than
    `SHARE` of the gain, or that some narrower one and all wider than that have more. So the interval covers the
    narrowest width with this share, whether or not accuracy grows with the width.
    """
    few = next((name for name, seeds in (("none", none), ("exact attention", exact)) if len(seeds) < 2), None)
    if few:
        return Range(why=f"it needs two seeds or more of one variant of {few} with the same other settings")
    gain, error, _ = welch([(1, exact), (-1, none)])
    if gain <= ERRORS * error:
        why = f"exact attention gains {number(gain)} ± {error:.2f} points over none: no more than two standard errors"
        return Range(gain=gain, error=error, why=why)
    above = {
        width: student(*welch([(1, seeds), (SHARE - 1, none), (-SHARE, exact)])) for width, seeds in widths.items()
    }
    doubtful = max((width for width, interval in above.items() if interval.low < 0), default=0)
    return Range(
        width=min((width for width, interval in above.items() if interval.difference >= 0), default=WHOLE),
        low=min((width for width, interval in above.items() if interval.high >= 0), default=WHOLE),
        high=min((width for width in above if width > doubtful), default=WHOLE),
        gain=gain,
        error=error,
    )


def sweep_ranges(points: list[Point], swept: SweptNumber) -> dict[str, Range]:
    """Compute the range of each variant's numbers: with exact attention and `none` of the same other settings.

    A sweep without `none` beside it has no ranges.
    """
    ranges = {}
    names = dict.fromkeys(point.variant for point in points if point.number and NO_ATTENTION in swept.beside)
    for name in names:
        of_name = [point for point in points if point.variant == name]
        alike = [point for point in points if point.other_settings == of_name[0].other_settings]
        cells = [[point.cell for point in alike if point.method == end] for end in (NO_ATTENTION, EXACT)]
        none, exact = (of_end[0].accuracies if len(of_end) == 1 else () for of_end in cells)
        widths = {point.number: point.cell.accuracies for point in of_name if point.number}
        mixed = [end for end, of_end in zip(("none", "exact attention"), cells, strict=True) if _is_mixed(of_end)]
        ranges[name] = (
            Range(why=f"only some seeds of {' and of '.join(mixed)} converged, so their mean is near no seed")
            if mixed
            else attention_range(none, exact, widths)
        )
    return ranges


def _is_mixed(cells: Sequence[TableCell]) -> bool:
    return any(cell.partly_converged for cell in cells)


def sweep_table(points: list[Point], swept: SweptNumber, *, title: str) -> TextTable:
    """Build a table with a row for each point."""
    rows, csv_rows, ranges = [], [], sweep_ranges(points, swept)
    for point in points:
        cell = point.cell
        rows.append(
            [
                point.name,
                str(cell),
                ", ".join("–" if step is None else f"{step:,}" for step in point.convergence_steps.values()),
                f"{1 / cell.steps_per_second:.3f}",
                f"{cell.peak_memory_bytes / 2**20:,.0f}",
                number(point.pinv_residual and point.pinv_residual[0], 4),
                number(point.attention_error and point.attention_error[0], 3),
            ]
        )
        csv_rows.append(_csv_row(point, swept, ranges.get(point.variant)))
    caption = cell_note(point.cell for point in points)
    notes = [
        *(f"{'Range' if len(ranges) == 1 else f'Range of {name}'}: {found}." for name, found in ranges.items()),
        *([RANGE_NOTE] if ranges else []),
        f"{caption}; memory: peak of the process.",
        "converged at step: for each seed, the first dev pass from which on all are converged, up to the best one; –:"
        " the seed did not converge.",
    ]
    if swept.approximates:
        notes.append(
            "inverse: ‖AZA − A‖ / ‖A‖ of kernel 2 and its pseudo-inverse; attention: ‖Ŝ − S‖ / ‖S‖ of the approximated"
            " and the exact matrix; trained models on real test batches, means over layers, heads and sequences."
        )
    columns = (swept.head, "accuracy (%)", "converged at step", "s/step", "MiB", "inverse", "attention")
    if not rows:
        notes = []
    return TextTable(
        title=title,
        columns=columns,
        rows=rows,
        notes=notes,
        latex_caption=caption,
        optional=("MiB",),
        csv_rows=csv_rows,
    ).without_empty_columns()


def _csv_row(point: Point, swept: SweptNumber, found: Range | None) -> dict[str, object]:
    cell = point.cell
    flat: dict[str, object] = {
        "task": point.task,
        swept.option: point.name.partition(" (")[0] if point.number is None else point.number,
        "variant": point.variant,
        **cell.over_seeds,
        "convergence_steps": " ".join(str(step or "–") for step in point.convergence_steps.values()),
        "seconds_per_step": 1 / cell.steps_per_second,
        "peak_memory_bytes": cell.peak_memory_bytes,
    }
    for name in ("pinv_residual", "attention_error") if swept.approximates else ():
        error = getattr(point, name)
        flat |= {name: error and error[0], f"{name}_std": error and error[1]}
    if NO_ATTENTION in swept.beside:
        ends = (found.width, found.low, found.high) if found else (None,) * 3
        flat |= zip(("range", "range_low", "range_high"), map(width_name, ends), strict=True)
    return flat
