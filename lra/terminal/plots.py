"""Parts that several figures share: a paper's column, its colours, names beside what they name, hover texts, files.

Names are placed so that a figure needs no legend and no text lies on another.
"""

import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from lra.base.files import replacing
from lra.base.text import for_figure, visible
from lra.terminal.display_names import TASK, display_name

COLUMN = 3.4  # width of a paper's column, in inches
LETTERS_OF_COLUMN = 74  # of 6 points
FORMATS = (".png", ".pdf", ".svg")
INK, QUIET, GREY = "#1f2328", "#59636e", "#646b72"  # text; lines of axes; what is not highlighted
OF_PAPER = {  # readable as text on white, and told apart by colour-blind readers
    "nystrom": "#c23b00", "full": INK, "linformer": "#0072b2", "performer": "#007a63", "reformer": "#9a3f86",
}  # fmt: skip
PALETTE = ("#0072b2", "#c23b00", "#007a63", "#9a3f86", "#7a5c00", INK)  # each has a dark twin in html_page.py
STYLE: Any = {
    "font.size": 7, "axes.titlesize": 7, "axes.labelsize": 7.5, "figure.titlesize": 7, "figure.labelsize": 7.5,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7, "lines.linewidth": 1.1, "lines.markersize": 3.5,
    "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False, "axes.labelpad": 2,
    "axes.grid": True, "axes.grid.which": "major", "grid.linewidth": 0.4, "grid.alpha": 0.3, "xtick.major.size": 2.5,
    "ytick.major.size": 2.5, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.pad": 2,
    "ytick.major.pad": 2, "ytick.minor.size": 0, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": QUIET,
    "xtick.color": QUIET, "ytick.color": QUIET, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "pdf.fonttype": 42, "svg.hashsalt": "lra", "savefig.dpi": 200,
}  # fmt: skip
for_a_column = matplotlib.rc_context(STYLE)  # decorates a function that draws
OWNERS = re.compile(r"[\w.]+\.(?=\w+=)")  # in front of the last part of a key
HOVER = "hover:"  # begins the id of what has a text for a pointer
LEGEND_LETTERS = 32  # width of a name in a legend
OF_TEST = " of the test split"
MOST_TICKS = 9  # numbers below an axis of four inches
DISTANCES = (5, 8, 12, 17, 23, 30, 38, 47)  # of a name from its point, in points of 1/72 inch
ANGLES = 16
LINE_FROM = 9  # a name at least so far from its point is joined to it by a line
TO_NAME = 8  # from an axis to the names at its right, in points
SMALLER = 6 / 7  # size of a grey name, as part of the others'
ON_LINE = 14  # points that a name had better go further so as not to cover one more line
MARKER = 3.0  # half the width of a marker, in points


def legend_below(
    figure: Figure, axes: Iterable[Axes], *, columns: int, order: Callable[[str], Any] | None = None
) -> None:
    """Put one legend of some axes below all, where it covers nothing: each name once, in the order of a sort key."""
    named = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    labels = list(named) if order is None else sorted(named, key=order)
    lines = [named[label] for label in labels]
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False, handlelength=1.4)


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """Choose a colour for each row: a few all differ; of many the paper's five methods do, and the others are grey."""
    methods = [name.split(" ")[0] for name in names]
    if len(names) > len(PALETTE):
        return {name: OF_PAPER.get(method, GREY) for name, method in zip(names, methods, strict=True)}
    fixed = {
        name: OF_PAPER[method]
        for name, method in zip(names, methods, strict=True)
        if method in OF_PAPER and methods.count(method) == 1
    }
    free = iter([colour for colour in PALETTE if colour not in fixed.values()])
    return {name: fixed.get(name) or next(free) for name in names}


def short_name(name: str, *, letters: int = LEGEND_LETTERS) -> str:
    """Write a row's name for a label in a figure: the display name, below it what sets the row apart.

    Settings are named by the last part of their keys, as `lr=0.001`; lines have so many letters.
    """
    display, _, settings = display_name(name).partition(" (")
    last_parts = OWNERS.sub("", settings.removesuffix(")"))
    lines = [part for text in (display, last_parts) for part in textwrap.wrap(visible(text), letters)]
    return "\n".join(map(for_figure, lines))


def write_title(figure: Figure, *lines: str) -> None:
    """Write what a figure shows above it, small, in lines of its width; a task has its display name."""
    width = int(LETTERS_OF_COLUMN * figure.get_figwidth() / COLUMN)
    shown = [
        part
        for line in lines
        if line
        for part in textwrap.wrap(visible(display_name(line, of=TASK)), width, break_on_hyphens=False)
    ]
    figure.suptitle("\n".join(map(for_figure, shown)), x=0.01, ha="left", fontsize=6)


def hover(artist: Artist, text: str) -> None:
    """Give a part of a figure a text that an SVG shows under the pointer."""
    artist.set_gid(HOVER + visible(text))


def svg_of(figure: Figure) -> str:
    """Write a figure as SVG, with the texts of `hover` as titles and no other ids of groups."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    titled = re.sub(rf"""<g id=(["']){HOVER}(.*?)\1>""", r"<g><title>\2</title>", text.getvalue())
    return re.sub(r"""<g id=(["']).*?\1""", "<g", titled)


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure atomically in the format of its path's ending, and close it; the same numbers give the same file.

    A PNG, for screens, has a PDF and an SVG for papers beside it.
    """
    for suffix in FORMATS if path.suffix == ".png" else (path.suffix,):
        with replacing(path.with_suffix(suffix), shared=True) as unfinished:
            if suffix == ".svg":
                unfinished.write_text(svg_of(figure), "utf-8")
            else:
                undated = {"CreationDate": None} if suffix == ".pdf" else {}
                figure.savefig(unfinished, format=suffix[1:], metadata=undated)
    plt.close(figure)
    return path


def ticks_that_fit(values: Iterable[float], *, most: int = MOST_TICKS) -> list[float]:
    """Choose those of some positive values whose numbers do not collide on a logarithmic axis, the least first."""
    ordered = sorted(set(values))
    if not ordered:
        return []
    least_ratio = (ordered[-1] / ordered[0]) ** (1 / most)
    chosen = ordered[:1]
    for value in ordered[1:]:
        if value >= chosen[-1] * least_ratio:
            chosen.append(value)
    return chosen


def round_ticks(low: float, high: float) -> list[float]:
    """Choose a few round numbers from `low` to `high`, for a logarithmic axis; both are above 0."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    rounds = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    inside = [value for value in rounds if low <= value <= high]
    return inside if len(inside) > 2 else [value for value in plt.MaxNLocator(5).tick_values(low, high) if value > 0]


def count_axis(axis: Axes, counts: Iterable[float], *, most: int = MOST_TICKS) -> None:
    """Make the lower axis one of counts or lengths: logarithmic, with whole numbers that do not collide."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(ticks_that_fit(counts, most=most))
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter("{x:.0f}")


def majority_line(axis: Axes, majority_rate: float, *, of: str = "") -> None:
    """Draw what the most frequent class alone gives, a fraction in [0, 1], as a line across an axis in percent.

    `of` words the split, where the axis is of another one.
    """
    axis.axhline(100 * majority_rate, ls=":", lw=1, color=QUIET, label=f"majority class{of} {100 * majority_rate:.1f}")


def contact_sheet(images: list[np.ndarray], labels: list[int], path: Path, columns: int = 8) -> Path:
    """Draw grey images `[side, side]` uint8 side by side into a PNG, each with its label above."""
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(columns, 1.15 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, image, label in zip(axes.flat, images, labels, strict=False):
        axis.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axis.set_title(str(label), fontsize=7, pad=1)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


class Label(NamedTuple):
    """A name for a point: the point in data coordinates, the text, its colour."""

    x: float
    y: float
    text: str
    colour: str


def label_points(axis: Axes, labels: Sequence[Label], *, lines: Iterable[Bbox] = ()) -> list[str]:
    """Write each name where it covers nothing, the first ones nearest to their points; return those without a place.

    Call it when all else is drawn: it lays the figure out. `lines` are boxes in data coordinates that a name had better
    not cover, such as the range of a point's seeds.
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
    for index, label in enumerate(labels):
        had_better_not_cover = _sides([*thin, *near[:index], *near[index + 1 : len(labels)]])
        must_not_cover = _sides(taken)
        text = _annotation(axis, label)
        x, y = at[label]
        free = [
            (distance + ON_LINE * _number_covered(box, had_better_not_cover) - aside, distance, box)
            for distance, aside, box in _around(x, y, text.get_window_extent(), scale)
            if _contains(inside, box) and not _number_covered(box, must_not_cover)
        ]
        if not free:
            text.remove()
            unplaced.append(label.text)
            continue
        _, distance, box = min(free, key=lambda candidate: candidate[0])
        text.set_position(((box.x0 - x) / scale, (box.y0 - y) / scale))
        if distance >= LINE_FROM:
            end = min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1)
            line = axis.transData.inverted().transform([(x, y), end])
            axis.plot(*line.T, color=label.colour, lw=0.4, alpha=0.7, zorder=1.5, scalex=False, scaley=False)
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


def _sides(boxes: Sequence[Bbox]) -> np.ndarray:
    """The left, lower, right and upper sides of some boxes, `[boxes, 4]`."""
    corners = np.array([box.extents for box in boxes]).reshape(-1, 2, 2)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def _number_covered(box: Bbox, sides: np.ndarray) -> int:
    """How many boxes a box overlaps or touches; they are the rows of `_sides`."""
    left, lower, right, upper = sides.T
    return int(np.count_nonzero((box.x0 <= right) & (left <= box.x1) & (box.y0 <= upper) & (lower <= box.y1)))


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
        order = sorted(range(len(labels)), key=lambda index: at[index][1])
        heights = [texts[axis][index].get_window_extent().height for index in order]
        middles = _spread([at[index][1] for index in order], heights, inside.y0, inside.y1)
        for index, middle in zip(order, middles, strict=True):
            label, text, (x, y) = labels[index], texts[axis][index], at[index]
            right = inside.x1 + TO_NAME * scale
            text.set(va="center")
            text.set_position(((right - x) / scale, (middle - y) / scale))
            begin, bend = (x + 2 * scale, y), (inside.x1 + 2 * scale, y)
            other_bend, end = (right - 2 * scale, middle), (right - scale, middle)
            line = axis.transData.inverted().transform([begin, bend, other_bend, end])
            axis.plot(*line.T, color=label.colour, lw=0.4, alpha=0.8, clip_on=False, scalex=False, scaley=False)


def _spread(wanted: list[float], heights: list[float], low: float, high: float) -> list[float]:
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
