"""Draw the figure of a comparison: accuracy against time, with the Pareto front of what differs significantly."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.transforms import Bbox

from lra.tables.comparison import Contender, seeds_of_rows
from lra.tables.statistics.significance import Pair, significant_pairs
from lra.terminal import figure_names, figure_style, plots
from lra.terminal.display_names import display_name
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import INK, NO_NAME, QUIET, hover

HEIGHTS = {1: 2.7, 2: 3.2}  # inches, by the number of columns
MARKS = "Large marks: mean over the seeds, or median where only some converged; small dots on a line: seeds."


def pareto_front(compared: list[Contender]) -> list[Contender]:
    """Select the fastest contender, and each slower one that is more accurate than all faster ones on the front.

    More accurate means significantly, by the rule of the table, among all pairs. Contenders with fewer seeds than it
    needs are left out, and those of which some seeds alone converged. Fewer than two others: there is no front.
    """
    seeds = seeds_of_rows({contender.name: contender.cell for contender in compared})
    if len(seeds) < 2:
        return []
    pairs = significant_pairs(seeds)
    judged = [contender for contender in compared if contender.name in seeds]
    front: list[Contender] = []
    for contender in sorted(judged, key=lambda contender: -contender.cell.steps_per_second):
        if all(Pair(contender.name, faster.name) in pairs for faster in front):
            front.append(contender)
    return front


@figure_style.for_a_paper
def plot_pareto(
    compared: list[Contender],
    path: Path,
    *,
    title: str,
    majority_rate: float,
    asked: Sequence[str] = (),
    columns: int = 2,
) -> Drawn:
    """Draw accuracy against seconds per step into a file, in the width of one column of a paper or two.

    A large mark is the mean over seeds, or the median where some converged and others did not, and small dots on a line
    are the seeds. Of more than eight contenders, those have a name that were `asked` for, exact attention, those on the
    front, the paper's methods, and the most accurate ones. The names stand beside their marks, or in a legend.
    """
    figure, axis = plt.subplots(figsize=(figure_style.WIDTHS[columns], HEIGHTS[columns]), layout="constrained")
    front = pareto_front(compared)
    named = _named(compared, front if len(front) > 1 else [], asked)
    looks = figure_style.looks_of(named)
    labels, lines, values = [], [], []
    for contender in compared:
        cell, look = contender.cell, looks.get(contender.name)
        seconds = 1 / cell.steps_per_second
        shown = NO_NAME._replace(marker="o") if look is None else look
        name = figure_names.short_name(contender.name)
        (mark,) = axis.plot(
            seconds, cell.central_value, **shown.of_dots, ms=5.5 if look else 4, zorder=3 if look else 2
        )
        memory = f"{cell.peak_memory_bytes / 2**20:,.0f} MiB"
        hover(mark, f"{display_name(contender.name)}: {cell} %, {seconds:.3f} s/step, {memory}, {contender.verdict}")
        values += [cell.central_value, *cell.accuracies]
        if look is not None:
            mark.set_label(name)
            labels.append(figure_names.Label(seconds, cell.central_value, name, look.colour))
        if cell.count > 1:
            heights = sorted(cell.accuracies)
            axis.plot(
                [seconds] * cell.count, heights, color=shown.colour, lw=0.6, marker=".", ms=2.5, alpha=0.7, zorder=1.8
            )
            lines.append(Bbox([[seconds, heights[0]], [seconds, heights[-1]]]))
    below = plots.majority_line_if_near(axis, majority_rate, values)
    axis.set_xscale("log")
    axis.margins(0.14 if columns == 2 else 0.16, 0.08)
    on_front = ""
    if len(front) > 1:
        points = [(1 / contender.cell.steps_per_second, contender.cell.central_value) for contender in front]
        axis.plot(*zip(*points, strict=True), ls="-", lw=0.8, color=QUIET, zorder=1)
        on_front = "Line: Pareto front of what differs significantly over the seeds."
    axis.set_xticks(plots.round_ticks(*axis.get_xlim()))
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("seconds per training step")
    axis.set_ylabel("test accuracy (%)")
    if not below:
        text, transform = f"majority class {100 * majority_rate:.1f}", axis.get_yaxis_transform()
        axis.text(0.995, 100 * majority_rate, text, color=QUIET, ha="right", va="bottom", transform=transform)
    axis.yaxis.set_major_locator(plots.round_numbers(6))
    highlighted_first = sorted(labels, key=lambda label: label.colour != INK)
    marks = [(1 / each.cell.steps_per_second, each.cell.central_value) for each in compared if each.name not in named]
    if not figure_names.label_points(axis, highlighted_first, marks=marks, lines=lines):
        figure_names.legend_below(figure, [axis])
    grey = figure_names.grey_sentence([each.name for each in compared if each.name not in named])
    caption = figure_names.caption_of(title, "Test accuracy against time.", MARKS, on_front, below, grey)
    return figure_style.save_figure(figure, path, caption=caption)


def _named(compared: list[Contender], front: list[Contender], asked: Sequence[str]) -> list[str]:
    names = [contender.name for contender in compared]
    papers = [name for name in names if name.split(" ")[0] in figure_style.OF_METHOD]
    first = figure_names.exact_first(names, asked=asked)
    by_accuracy = sorted(compared, key=lambda contender: -contender.cell.central_value)
    first += [*(contender.name for contender in front), *papers]
    return figure_names.choose_named(names, first=first, best=[contender.name for contender in by_accuracy])
