"""Heat map of a table: the accuracy of each method on each task, in colours that also differ in grey."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from lra.tables.cells import Row
from lra.terminal import plots
from lra.terminal.display_names import TASK, display_name

ROW_HEIGHT, HEAD_HEIGHT = 0.155, 0.5  # in inches
DARK = 0.55  # of the colour map, below which text is white


@plots.for_a_column
def plot_heat_map(
    rows: Sequence[Row], path: Path, *, tasks: Sequence[str], chance: Mapping[str, float], title: str
) -> Path:
    """Draw the accuracies, in percent, into a file: a line for each method, the best on average first.

    The average, of the tasks that all rows have, orders the rows alone. A field within one standard error of the test
    of what the most frequent class gives, or below, is in brackets; the last line has what that class gives.

    Args:
        rows: the methods; a field of a missing cell is empty.
        path: a PNG; PDF and SVG go beside it.
        tasks: the columns.
        chance: what the most frequent class alone gives on the test part of each task, in [0, 1].
        title: what is shown, in a line.
    """
    common = [task for task in tasks if all(row.cells[task] is not None for row in rows)]
    ordered = sorted(rows, key=lambda row: -sum(cell.central_value for t in common if (cell := row.cells[t])))
    accuracies = np.full((len(ordered), len(tasks)), np.nan)
    figure, axis = plt.subplots(
        figsize=(plots.COLUMN, ROW_HEIGHT * (len(ordered) + 1) + HEAD_HEIGHT), layout="constrained"
    )
    colours = plt.get_cmap("cividis")
    for y, row in enumerate(ordered):
        for x, task in enumerate(tasks):
            cell = row.cells[task]
            if cell is None:
                continue
            accuracies[y, x] = cell.central_value
            at_chance = cell.central_value <= 100 * chance[task] + cell.noise
            shown = f"{cell.central_value:.0f}"
            text = axis.text(
                x,
                y,
                f"({shown})" if at_chance else shown,
                ha="center",
                va="center",
                color="white" if cell.central_value < 100 * DARK else plots.INK,
            )
            plots.hover(text, f"{row.name} on {task}: {cell}")
    axis.imshow(accuracies, cmap=colours, vmin=0, vmax=100, aspect="auto")
    for x, task in enumerate(tasks):
        axis.text(x, len(ordered), f"{100 * chance[task]:.0f}", ha="center", va="center", color=plots.QUIET)
    axis.set_ylim(len(ordered) + 0.5, -0.5)
    names = [plots.short_name(row.name, letters=22) for row in ordered]
    axis.set_yticks(range(len(ordered) + 1), [*names, "majority class"])
    axis.set_xticks(range(len(tasks)), [display_name(task, of=TASK).replace(" ", "\n") for task in tasks])
    axis.tick_params(length=0)
    axis.xaxis.tick_top()
    axis.grid(visible=False)
    for side in axis.spines.values():
        side.set_visible(False)
    plots.write_title(figure, title)
    return plots.save_figure(figure, path)
