"""Draw accuracies of several methods against the number of pairs that a probe asks them to recall."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from lra.tables.capacity import CapacityRow, numbers_of_pairs
from lra.tables.cells import central_note
from lra.terminal import figure_names, figure_style, plots
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import NO_NAME, WIDTHS, hover

HEIGHT = 2.3  # inches


@figure_style.for_a_paper
def plot_capacity(
    rows: Sequence[CapacityRow], path: Path, *, title: str, majority_rate: float, columns: int = 2
) -> Drawn:
    """Draw a line for each method into a file: the mean over the seeds, or the median where only some converged.

    Small hollow marks are the seeds. The majority rate of the test split, in [0, 1], is a line.
    """
    names = [row.name for row in rows]
    best_first = sorted(rows, key=lambda row: -sum(cell.central_value for cell in row.cells.values()) / len(row.cells))
    named = figure_names.choose_named(
        names, first=figure_names.exact_first(names), best=[row.name for row in best_first]
    )
    looks = {name: NO_NAME._replace(marker="o") for name in names} | figure_style.looks_of(named)
    figure, axis = plt.subplots(figsize=(WIDTHS[columns], HEIGHT), layout="constrained")
    for row in best_first:
        look, pairs = looks[row.name], [*row.cells]
        middles = [cell.central_value for cell in row.cells.values()]
        axis.plot(pairs, middles, **look.of_line, label=figure_names.short_name(row.name) if row.name in named else "")
        for x, y, cell in zip(pairs, middles, row.cells.values(), strict=True):
            (dot,) = axis.plot(x, y, **look.of_dots)
            hover(dot, f"{row.name}, {x} pairs: {cell} %")
            axis.plot([x] * cell.count, cell.accuracies, **look.of_seeds)
    plots.majority_line(axis, majority_rate)
    plots.count_axis(axis, numbers_of_pairs(rows))
    axis.yaxis.set_major_locator(plots.round_numbers(6))
    axis.set_xlabel("pairs")
    axis.set_ylabel("test accuracy (%)")
    figure_names.legend_below(figure, [axis])
    central = central_note(cell for row in rows for cell in row.cells.values())
    caption = figure_names.caption_of(
        title,
        f"Lines: {central}; hollow marks: seeds.",
        figure_names.grey_sentence([name for name in names if name not in named]),
    )
    return figure_style.save_figure(figure, path, caption=caption)
