"""Heat map of a table: the accuracy of each method on each task, and how far that is above chance."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text

from lra.tables.cells import Row
from lra.tables.comparison import not_below_the_best
from lra.terminal import figure_names, figure_style
from lra.terminal.display_names import TASK, display_name
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import INK, QUIET, WIDTHS, hover

ROW_HEIGHT, HEAD_HEIGHTS = 0.175, {1: 0.75, 2: 0.45}  # in inches, by the number of columns
LEAST_CELLS = {1: 3, 2: 6}  # for which a line has room, so that those of few tasks are not wide
GAP = 0.35  # between the cells and the mean or chance, in cells
DARK = 0.48  # brightness of a colour below which text on it is white
BRIGHTNESS = (0.2126, 0.7152, 0.0722)  # parts of red, green and blue
STEPS = 20  # of the colours: of 5 % each
COLOURS = LinearSegmentedColormap.from_list("white to dark blue", ("#ffffff", "#c6dbef", "#4a90c4", "#08306b"), N=STEPS)
NAME_LETTERS = 26


@figure_style.for_a_paper
def plot_heat_map(
    rows: Sequence[Row],
    path: Path,
    *,
    tasks: Sequence[str],
    chance: Mapping[str, float],
    title: str,
    columns: int = 2,
) -> Drawn:
    """Draw the accuracies, in percent, into a file: a line for each method, the best on average first.

    The average, of the tasks that all rows have, orders the rows and stands at the right. Colours go, for each task,
    from what the most frequent class gives to 100 %. An accuracy within one standard error of the test of that chance,
    or below, is in brackets; a bold one is not significantly below the best of its task, by the rule of all tables; one
    in italics is the median of seeds of which only some converged. The last line has chance itself.

    Args:
        rows: the methods; a field of a missing cell is empty.
        path: a PNG; PDF and SVG go beside it.
        tasks: the columns.
        chance: what the most frequent class alone gives on the test part of each task, in [0, 1].
        title: what is shown, for the caption.
        columns: one or two columns of a paper; in one there is room for neither the average nor the scale of colours.
    """
    common = [task for task in tasks if all(task in row.cells for row in rows)]
    means = {row.name: _mean(row, common) for row in rows}
    ordered = sorted(rows, key=lambda row: -means[row.name])
    figure, axis = plt.subplots(
        figsize=(WIDTHS[columns], ROW_HEIGHT * (len(ordered) + 1 + GAP) + HEAD_HEIGHTS[columns]), layout="constrained"
    )
    has_means = len(common) > 1 and columns > 1
    shares = np.full((len(ordered), len(tasks)), np.nan)
    leading = {
        task: not_below_the_best({row.name: row.cells[task] for row in rows if task in row.cells}) for task in tasks
    }
    for y, row in enumerate(ordered):
        for x, task in enumerate(tasks):
            cell = row.cells.get(task)
            if cell is None:
                continue
            accuracy, least = cell.central_value, 100 * chance[task]
            share = shares[y, x] = min(max((accuracy - least) / (100 - least), 0.0), 1.0)
            shown = f"({accuracy:.0f})" if accuracy <= least + cell.noise else f"{accuracy:.0f}"
            text = _write(axis, x, y, shown, "white" if _is_dark(share) else INK)
            text.set_fontweight("bold" if row.name in leading[task] else "normal")
            text.set_fontstyle("italic" if cell.partly_converged else "normal")
            hover(text, f"{row.name} on {task}: {cell}")
        if has_means:
            _write(axis, len(tasks) + GAP, y, f"{means[row.name]:.0f}", INK)
    edges = (np.arange(len(tasks) + 1) - 0.5, np.arange(len(ordered) + 1) - 0.5)
    cells = axis.pcolormesh(*edges, np.ma.masked_invalid(shares), cmap=COLOURS, vmin=0, vmax=1, ec="white", lw=1)
    for x, task in enumerate(tasks):
        _write(axis, x, len(ordered) + GAP, f"{100 * chance[task]:.0f}", QUIET)
    heads = [display_name(task, of=TASK).replace(" ", "\n") for task in tasks]
    places: list[float] = [*range(len(tasks))]
    if has_means:
        heads.append("Mean" if common == list(tasks) else f"Mean\nof {len(common)}")
        places.append(len(tasks) + GAP)
    names = [figure_names.short_name(row.name, letters=NAME_LETTERS) for row in ordered]
    axis.set_yticks([*range(len(ordered)), len(ordered) + GAP], [*names, "majority class"])
    axis.set_xticks(places, heads, rotation=90 if columns == 1 else 0)
    axis.set_xlim(-0.5, max(places[-1] + 0.5, LEAST_CELLS[columns] - 0.5))
    axis.set_ylim(len(ordered) + GAP + 0.5, -0.5)
    _without_frame(axis)
    if columns > 1:
        _colour_bar(figure, axis, cells)
    mixed = any(cell.partly_converged for row in rows for cell in row.cells.values())
    caption = figure_names.caption_of(title, *_sentences(leading, mixed=mixed, has_mean=len(common) > 1))
    return figure_style.save_figure(figure, path, caption=caption)


def _mean(row: Row, tasks: Sequence[str]) -> float:
    values = [row.cells[task].central_value for task in tasks if task in row.cells]
    return sum(values) / len(values) if values else 0.0


def _write(axis: Axes, x: float, y: float, text: str, colour: str) -> Text:
    return axis.text(x, y, text, ha="center", va="center_baseline", color=colour)


def _is_dark(share: float) -> bool:
    """Whether the colour of a cell is so dark that text on it is white."""
    return float(np.dot(COLOURS(share)[:3], BRIGHTNESS)) < DARK


def _colour_bar(figure: Figure, axis: Axes, cells: QuadMesh) -> None:
    bar = figure.colorbar(cells, ax=axis, shrink=0.45, aspect=22, pad=0.015, anchor=(0, 1), panchor=(1, 1))
    bar.set_ticks([0, 1], labels=["chance", "100 %"])
    bar.ax.tick_params(length=0)
    bar.outline.set_linewidth(0.4)


def _without_frame(axis: Axes) -> None:
    axis.tick_params(length=0)
    axis.xaxis.tick_top()
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)


def _sentences(leading: Mapping[str, set[str]], *, mixed: bool, has_mean: bool) -> list[str]:
    sentences = ["Test accuracy in %: mean over the seeds."]
    if mixed:
        sentences.append("Italics: the median where only some seeds converged, which have no verdict.")
    sentences.append("Colour: from the majority class of the task (white) to 100 %; in brackets: no more than chance.")
    if any(leading.values()):
        sentences.append("Bold: not significantly below the best of the column, over three seeds or more.")
    if has_mean:
        sentences.append("Methods are in the order of their mean.")
    return sentences
