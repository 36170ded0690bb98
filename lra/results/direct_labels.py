"""Place names in a figure beside what they name, so that it needs no legend and no text lies on another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from lra.results.plots import GREY

DISTANCES = (5, 8, 12, 17, 23, 30, 38, 47)  # of a name from its point, in points of 1/72 inch
ANGLES = 16
LINE_FROM = 9  # a name at least so far from its point is joined to it by a line
TO_NAME = 8  # from an axis to the names at its right, in points
SMALLER = 6 / 7  # size of a grey name, as part of the others'
ON_LINE = 14  # points that a name had better go further so as not to cover one more line
MARKER = 3.0  # half the width of a marker, in points


class Label(NamedTuple):
    """A name for a point: the point in data coordinates, the text, its colour."""

    x: float
    y: float
    text: str
    colour: str


def label_points(axis: Axes, labels: Sequence[Label], *, lines: Iterable[Bbox] = ()) -> list[str]:
    """Write each name where it covers nothing, the first ones nearest to their points; return those without a place.

    Call it when all else is drawn: it lays the figure out.

    Args:
        axis: where.
        labels: the names, the most important first.
        lines: boxes in data coordinates that a name had better not cover, such as the range of a point's seeds.
    """
    figure = axis.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    scale, inside = figure.dpi / 72, axis.get_window_extent()
    at = {label: axis.transData.transform((label.x, label.y)) for label in labels}
    taken = [Bbox.from_extents(x - MARKER * scale, y - MARKER * scale, x + MARKER * scale, y + MARKER * scale)
             for x, y in at.values()]  # fmt: skip
    taken += [text.get_window_extent() for text in axis.texts]
    near = [box.padded(3 * scale) for box in taken]
    thin = [box.transformed(axis.transData).padded(scale) for box in lines]
    unplaced = []
    for place, label in enumerate(labels):
        others = near[:place] + near[place + 1 : len(labels)]
        text = _annotation(axis, label)
        x, y = at[label]
        free = [
            (distance + ON_LINE * sum(map(box.overlaps, [*thin, *others])) - aside, distance, box)
            for distance, aside, box in _around(x, y, text.get_window_extent(), scale)
            if _contains(inside, box) and not any(map(box.overlaps, taken))
        ]
        if not free:
            text.remove()
            unplaced.append(label.text)
            continue
        _, distance, box = min(free, key=lambda place: place[0])
        text.set_position(((box.x0 - x) / scale, (box.y0 - y) / scale))
        if distance >= LINE_FROM:
            end = min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1)
            places = axis.transData.inverted().transform([(x, y), end])
            axis.plot(*places.T, color=label.colour, lw=0.4, alpha=0.7, zorder=1.5, scalex=False, scaley=False)
        taken.append(box.padded(4 * scale, 0))
    return unplaced


def _around(x: float, y: float, size: Bbox, scale: float) -> Iterator[tuple[int, float, Bbox]]:
    """Yield places for a name around a point: the distance, how far to the right of it, and the box, in pixels."""
    for distance in DISTANCES:
        for number in range(ANGLES):
            angle = 2 * math.pi * number / ANGLES
            right, up = math.cos(angle), math.sin(angle)
            left = x + distance * scale * right - size.width * (1 - right) / 2
            low = y + distance * scale * up - size.height * (1 - up) / 2
            yield distance, 2 * right, Bbox.from_bounds(left, low, size.width, size.height)


def _annotation(axis: Axes, label: Label) -> Annotation:
    size = matplotlib.rcParams["font.size"] * (SMALLER if label.colour == GREY else 1)
    text = axis.annotate(
        label.text, (label.x, label.y), (0, 0), textcoords="offset points", color=label.colour, fontsize=size
    )
    text.set_in_layout(False)
    return text


def _contains(outer: Bbox, inner: Bbox) -> bool:
    return bool(outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1)


def label_ends(figure: Figure, ends: Mapping[Axes, Sequence[Label]]) -> None:
    """Write names of lines in a column to the right of each axis, at the height of its line's end or near it.

    Names that would lie on each other move apart, and a thin line joins each to the end of its line. Call it when all
    else is drawn: it makes room for the names and lays the figure out.
    """
    texts = {axis: [_annotation(axis, label) for label in labels] for axis, labels in ends.items()}
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for column in texts.values() for text in column]
    if not boxes:
        return
    scale, engine = figure.dpi / 72, figure.get_layout_engine()
    assert engine is not None
    width = max(box.width for box in boxes) + (TO_NAME + 1) * scale
    engine.set(rect=(0, 0, 1 - width / figure.bbox.width, 1))  # type: ignore[call-arg]
    figure.draw_without_rendering()
    lacking = max(
        sum(text.get_window_extent().height for text in column) - axis.get_window_extent().height
        for axis, column in texts.items()
    )
    figure.set_figheight(figure.get_figheight() + max(lacking, 0) * len(texts) / figure.dpi)
    figure.draw_without_rendering()
    for axis, labels in ends.items():
        inside = axis.get_window_extent()
        at = [axis.transData.transform((label.x, label.y)) for label in labels]
        order = sorted(range(len(labels)), key=lambda place: at[place][1])
        heights = [texts[axis][place].get_window_extent().height for place in order]
        middles = _spread([at[place][1] for place in order], heights, inside.y0, inside.y1)
        for place, middle in zip(order, middles, strict=True):
            label, text, (x, y) = labels[place], texts[axis][place], at[place]
            right = inside.x1 + TO_NAME * scale
            text.set(va="center")
            text.set_position(((right - x) / scale, (middle - y) / scale))
            corners = [
                (x + 2 * scale, y),
                (inside.x1 + 2 * scale, y),
                (right - 2 * scale, middle),
                (right - scale, middle),
            ]
            line = axis.transData.inverted().transform(corners)
            axis.plot(*line.T, color=label.colour, lw=0.4, alpha=0.8, clip_on=False, scalex=False, scaley=False)


def _spread(wanted: list[float], heights: list[float], low: float, high: float) -> list[float]:
    """Move ascending middles of names apart and into `low` to `high`, as little as that takes.

    Names that would touch share the way: each run of them is centred on the middle of what its names want.
    """
    runs: list[tuple[list[float], list[float]]] = []  # what the names of a run want, and their heights

    def bottom(run: tuple[list[float], list[float]]) -> float:
        total = sum(run[1])
        return min(max(sum(run[0]) / len(run[0]) - total / 2, low), max(high - total, low))

    for place, height in zip(wanted, heights, strict=True):
        runs.append(([place], [height]))
        while len(runs) > 1 and bottom(runs[-2]) + sum(runs[-2][1]) > bottom(runs[-1]):
            upper, lower = runs.pop(), runs.pop()
            runs.append((lower[0] + upper[0], lower[1] + upper[1]))
    middles = []
    for run in runs:
        edge = bottom(run)
        for height in run[1]:
            middles.append(edge + height / 2)
            edge += height
    return middles
