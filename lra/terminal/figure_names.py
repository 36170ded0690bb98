"""Names in figures: which lines have one, and where it stands, so that no name lies on another or on what is drawn."""

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from lra.base.text import for_figure, visible
from lra.terminal.display_names import TASK, display_name
from lra.terminal.figure_style import QUIET

MOST_NAMED = 8  # lines with a name; a reader tells no more apart
OWNERS = re.compile(r"[\w.]+\.(?=\w+=)")  # in front of the last part of a key
LEGEND_LETTERS = 32  # width of a name in a legend
HANDLE = 2.2  # length of a line in a legend, in letters' heights
WIDTH_OF_LETTER, WIDTH_OF_LINE = 4.2, 33  # in a legend, in points: of a letter on average, of a line with its margins
HEIGHT_OF_LINE, ROOM_FOR_LEGEND = 0.18, 0.75  # in inches: of a line of a legend; what a figure has without growing
DISTANCES = (6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 48)  # of a name from its point, in points of 1/72 inch
ANGLES = 16
LINE_FROM = 12  # a name at least so far from its point is joined to it by a line
PLACES_ON_LINE = 12  # where it is looked whether such a line crosses a name
ON_LINE = 14  # points that a name had better go further so as not to cover one more line
MARKER = 3.0  # half the width of a marker, in points
TO_NAME = 6  # from the end of a line to its name, in points
MOST_MOVED = 1.2  # heights of a name that it may stand above or below the end of its line


def choose_named(names: Sequence[str], *, first: Iterable[str] = (), best: Iterable[str] = ()) -> list[str]:
    """Choose at most eight of some names, in their order: those of `first`, then the others in the order of `best`."""
    if len(names) <= MOST_NAMED:
        return list(names)
    wanted = [name for name in dict.fromkeys([*first, *best, *names]) if name in names]
    chosen = wanted[:MOST_NAMED]
    return [name for name in names if name in chosen]


def exact_first(names: Sequence[str], *, baseline: str | None = None, asked: Iterable[str] = ()) -> list[str]:
    """Order the names that a figure must show: the baseline, exact attention, and the methods that were asked for."""
    methods = ["full", *asked]
    of_methods = [name for method in methods for name in names if name.split(" ")[0] == method]
    return list(dict.fromkeys([*([] if baseline is None else [baseline]), *of_methods]))


def grey_sentence(names: Sequence[str]) -> str:
    """Word which lines are grey, for a caption; empty if none is."""
    shown = [one_line_name(name) for name in names]
    if not shown:
        return ""
    *others, last = shown
    return f"Grey: {', '.join(others)} and {last}." if others else f"Grey: {last}."


def short_name(name: str, *, letters: int = LEGEND_LETTERS) -> str:
    """Write a row's name for a figure: the display name, below it what sets the row apart.

    Settings are named by the last part of their keys, as `lr=0.001`; lines have so many letters.
    """
    lines = [part for text in _name_and_settings(name) for part in textwrap.wrap(visible(text), letters)]
    return "\n".join(map(for_figure, lines))


def one_line_name(name: str) -> str:
    """Write a row's name for a caption: `Nyströmformer (num_landmarks=32)`."""
    display, settings = _name_and_settings(name)
    return visible(f"{display} ({settings})" if settings else display)


def _name_and_settings(name: str) -> tuple[str, str]:
    display, _, settings = display_name(name).partition(" (")
    return display, OWNERS.sub("", settings.removesuffix(")"))


def caption_of(*sentences: str) -> str:
    """Join the sentences of a caption, of which some may be empty; a task at its beginning has its display name."""
    first, *others = sentences
    shown = display_name(first, of=TASK)
    return " ".join(filter(None, [f"{shown.removesuffix('.')}.", *others]))


def legend_below(figure: Figure, axes: Iterable[Axes], *, order: Callable[[str], Any] | None = None) -> None:
    """Put one legend of some axes below all, where it covers nothing: each name once, in the order of a sort key.

    A figure grows by what a legend of more than a few lines takes.
    """
    named = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    labels = list(named) if order is None else sorted(named, key=order)
    lines = [named[label] for label in labels]
    columns = _columns_that_fit(labels, 72 * figure.get_figwidth())
    rows = -(-len(labels) // columns)
    height = rows * max(label.count("\n") + 1 for label in labels) * HEIGHT_OF_LINE
    figure.set_figheight(figure.get_figheight() + max(height - ROOM_FOR_LEGEND, 0))
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, handlelength=HANDLE)


def _columns_that_fit(labels: Sequence[str], width: float) -> int:
    """The most columns of a legend of this width, in points, whose rows are about as long; names run down them."""
    for rows in range(1, len(labels) + 1):
        columns = [labels[place : place + rows] for place in range(0, len(labels), rows)]
        if sum(map(width_in_legend, columns)) <= width:
            return len(columns)
    return 1


def width_in_legend(column: Sequence[str]) -> float:
    """Estimate the width of a column of names in a legend, in points."""
    longest = max(len(line) for label in column for line in label.split("\n"))
    return WIDTH_OF_LETTER * longest + WIDTH_OF_LINE


class Label(NamedTuple):
    """A name for a point: the point in data coordinates, the text, its colour."""

    x: float
    y: float
    text: str
    colour: str


def label_points(
    axis: Axes, labels: Sequence[Label], *, marks: Iterable[tuple[float, float]] = (), lines: Iterable[Bbox] = ()
) -> bool:
    """Write each name where it covers nothing, the first ones nearest to their points; if one has no place, write none.

    Call it when all else is drawn: it lays the figure out, for good if all names have a place. `marks` are further
    points that no name may cover, `lines` boxes that it had better not, such as the range of a point's seeds; all in
    data coordinates.

    Returns:
        Whether the names are written; if not, they need a legend.
    """
    figure = axis.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    scale, inside = figure.dpi / 72, axis.get_window_extent()
    at = {label: axis.transData.transform((label.x, label.y)) for label in labels}
    points = [*at.values(), *(axis.transData.transform(mark) for mark in marks)]
    taken = [Bbox.from_bounds(x, y, 0, 0).padded(MARKER * scale) for x, y in points]
    taken += [text.get_window_extent() for text in axis.texts]
    near = [box.padded(3 * scale) for box in taken]
    thin = [box.transformed(axis.transData).padded(scale) for box in lines]
    names: list[Bbox] = []
    written: list[Artist] = []
    for index, label in enumerate(labels):
        had_better_not_cover = sides_of([*thin, *near[:index], *near[index + 1 :]])
        must_not_cover, not_to_cross = sides_of(taken), sides_of(names)
        text = _annotation(axis, label)
        written.append(text)
        x, y = at[label]
        free = [
            (distance + ON_LINE * number_covered(box, had_better_not_cover) - aside, distance, box)
            for distance, aside, box in _around(x, y, text.get_window_extent(), scale)
            if _contains(inside, box)
            and not number_covered(box, must_not_cover)
            and not (distance >= LINE_FROM and _crosses(_line_to(box, x, y), not_to_cross))
        ]
        if not free:
            for artist in written:
                artist.remove()
            return False
        _, distance, box = min(free, key=lambda candidate: candidate[0])
        text.set_position(((box.x0 - x) / scale, (box.y0 - y) / scale))
        if distance >= LINE_FROM:
            way = _line_to(box, x, y)
            line = axis.transData.inverted().transform(way[[0, -1]])
            written += axis.plot(*line.T, color=QUIET, lw=0.5, zorder=1.5, scalex=False, scaley=False)
            thin += [Bbox([place, place]) for place in way]
        names.append(box)
        taken.append(box.padded(4 * scale, 0))
    figure.set_layout_engine("none")
    return True


def _around(x: float, y: float, size: Bbox, scale: float) -> Iterator[tuple[int, float, Bbox]]:
    """Yield places for a name around a point: the distance, how far to the right of it, and the box, in pixels."""
    for distance in DISTANCES:
        for number in range(ANGLES):
            angle = 2 * math.pi * number / ANGLES
            right, up = math.cos(angle), math.sin(angle)
            left = x + distance * scale * right - size.width * (1 - right) / 2
            low = y + distance * scale * up - size.height * (1 - up) / 2
            yield distance, 2 * right, Bbox.from_bounds(left, low, size.width, size.height)


def _line_to(box: Bbox, x: float, y: float) -> np.ndarray:
    """Places on the line from a point to the nearest one of a name's box, `[places, 2]`."""
    end = min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1)
    return np.linspace((x, y), end, PLACES_ON_LINE)


def _crosses(places: np.ndarray, sides: np.ndarray) -> bool:
    return any(number_covered(Bbox([place, place]), sides) for place in places)


def _annotation(axis: Axes, label: Label) -> Annotation:
    text = axis.annotate(label.text, (label.x, label.y), (0, 0), textcoords="offset points", color=label.colour)
    text.set_in_layout(False)
    return text


def sides_of(boxes: Sequence[Bbox]) -> np.ndarray:
    """The left, lower, right and upper sides of some boxes, `[boxes, 4]`."""
    corners = np.array([box.extents for box in boxes]).reshape(-1, 2, 2)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def number_covered(box: Bbox, sides: np.ndarray) -> int:
    """How many boxes a box overlaps or touches; they are the rows of `sides_of`."""
    left, lower, right, upper = sides.T
    return int(np.count_nonzero((box.x0 <= right) & (left <= box.x1) & (box.y0 <= upper) & (lower <= box.y1)))


def _contains(outer: Bbox, inner: Bbox) -> bool:
    return bool(outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1)


def label_ends(axis: Axes, labels: Sequence[Label]) -> bool:
    """Write names of lines to the right of an axis, at the height of their ends; if they do not fit so, write none.

    A name may stand a little above or below the end of its line, not so far that a reader has to search for it. Call it
    when all else is drawn: it makes room for the names and lays the figure out.

    Returns:
        Whether the names are written; if not, they need a legend.
    """
    figure = axis.figure
    assert isinstance(figure, Figure)
    texts = [_annotation(axis, label) for label in labels]
    engine, scale = figure.get_layout_engine(), figure.dpi / 72
    assert engine is not None
    width = max(text.get_window_extent().width for text in texts) + (TO_NAME + 2) * scale
    engine.set(rect=(0, 0, 1 - width / figure.bbox.width, 1))  # type: ignore[call-arg]
    figure.draw_without_rendering()
    inside = axis.get_window_extent()
    at = [axis.transData.transform((label.x, label.y)) for label in labels]
    order = sorted(range(len(labels)), key=lambda index: at[index][1])
    heights = [texts[index].get_window_extent().height for index in order]
    middles = spread([at[index][1] for index in order], heights, inside.y0, inside.y1)
    moved = [abs(middle - at[index][1]) / height for index, middle, height in zip(order, middles, heights, strict=True)]
    if max(moved) > MOST_MOVED:
        for text in texts:
            text.remove()
        engine.set(rect=(0, 0, 1, 1))  # type: ignore[call-arg]
        return False
    for index, middle in zip(order, middles, strict=True):
        x, y = at[index]
        texts[index].set(va="center")
        texts[index].set_position(((inside.x1 + TO_NAME * scale - x) / scale, (middle - y) / scale))
    figure.set_layout_engine("none")
    return True


def spread(wanted: list[float], heights: list[float], low: float, high: float) -> list[float]:
    """Move ascending middles of names apart and into `low` to `high`, as little as that takes.

    Names that would touch share the way: each run of them is centred on the middle of what its names want.
    """
    runs: list[tuple[list[float], list[float]]] = []  # what the names of a run want, and their heights

    def bottom(run: tuple[list[float], list[float]]) -> float:
        total = sum(run[1])
        return min(max(sum(run[0]) / len(run[0]) - total / 2, low), max(high - total, low))

    for middle, height in zip(wanted, heights, strict=True):
        runs.append(([middle], [height]))
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
