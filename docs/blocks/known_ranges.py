"""Blocks on window sweeps over data whose range is known: does the sweep find it?"""

from collections import defaultdict

from docs.blocks.markdown import prose, table
from docs.blocks.published import records
from lra.base.text import number
from lra.runs.schema import Record
from lra.tables.attention_sweep import EXACT, WINDOW, Point, Range, sweep_points, sweep_ranges
from lra.tables.task_statistics import NO_ATTENTION

FILE = "known_ranges"
FACTOR = 2.0  # between a distance and the range that is found
NEARLY_ALL = 0.9  # noise from which the marks say nothing
Data = tuple[int, float]  # distance and noise of a data set


def _points() -> dict[Data, list[Point]]:
    found: dict[Data, list[Record]] = defaultdict(list)
    for record in records(FILE):
        data = record.settings["task"]["data"]
        found[data["distance"], data["noise"]].append(record)
    with_lag_first = sorted(found, key=lambda data: (not _has_lag(data), data))
    return {data: sweep_points(found[data], WINDOW) for data in with_lag_first}


def _has_lag(data: Data) -> bool:
    distance, noise = data
    return distance > 0 and noise < NEARLY_ALL


def _range(points: list[Point]) -> Range:
    (found,) = sweep_ranges(points, WINDOW).values()
    return found


def accuracies() -> str:
    """The accuracies on each data set by width, and the range that the sweep finds."""
    rows = []
    for (distance, noise), points in _points().items():
        means = {point.number or point.method: number(point.cell.central_value) for point in points}
        widths = [width for width in means if isinstance(width, int)]
        by_width = ", ".join(f"{width}: {means[width]}" for width in sorted(widths))
        shown = _range(points).shown
        rows.append((str(distance), str(noise), means[NO_ATTENTION], by_width, means[EXACT], shown))
    return table(("distance", "noise", "`none`", "by width", "exact", "range [95 %]"), rows)


def in_words() -> str:
    """Say on how many data sets the range is the known one."""
    found = {data: _range(points).width for data, points in _points().items()}
    near = [
        width is not None and data[0] / FACTOR <= width <= data[0] * FACTOR
        for data, width in found.items()
        if _has_lag(data)
    ]
    none = [width is None for data, width in found.items() if not _has_lag(data)]
    return prose(
        f"The range is within a factor of {FACTOR:.0f} of the distance on {sum(near)} of {len(near)} data sets that"
        f" have one, and there is none on {sum(none)} of the {len(none)} others."
    )
