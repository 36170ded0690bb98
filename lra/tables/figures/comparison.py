"""Draw the figure of a comparison: accuracy against time, with the Pareto front of what differs significantly."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.transforms import Bbox

from lra.tables.comparison import Contender, seeds_of_rows
from lra.tables.statistics.significance import Pair, significant_pairs
from lra.terminal import plots
from lra.terminal.display_names import display_name

HEIGHT = 2.9  # inches


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


@plots.for_a_column
def plot_pareto(compared: list[Contender], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy against seconds per step into a file.

    A large dot is the mean over seeds, or the median where some converged and others did not, and small dots on a line
    are the seeds. Each dot has its name beside it. Names for which there is no room are counted below the title.
    """
    figure, axis = plt.subplots(figsize=(plots.COLUMN, HEIGHT), layout="constrained")
    colours = plots.colours_of([contender.name for contender in compared])
    labels, lines = [], []
    for contender in compared:
        cell, colour = contender.cell, colours[contender.name]
        seconds, order = 1 / cell.steps_per_second, 2.5 if colour == plots.GREY else 3
        (dot,) = axis.plot(seconds, cell.central_value, ls="", marker="o", ms=4.5, color=colour, zorder=order)
        memory = f"{cell.peak_memory_bytes / 2**20:,.0f} MiB"
        plots.hover(
            dot, f"{display_name(contender.name)}: {cell} %, {seconds:.3f} s/step, {memory}, {contender.verdict}"
        )
        labels.append(plots.Label(seconds, cell.central_value, plots.short_name(contender.name), colour))
        if cell.count > 1:
            heights = sorted(cell.accuracies)
            axis.plot([seconds] * cell.count, heights, color=colour, lw=0.6, marker=".", ms=2.5, alpha=0.6)
            lines.append(Bbox([[seconds, heights[0]], [seconds, heights[-1]]]))
    front = pareto_front(compared)
    plots.majority_line(axis, majority_rate)
    axis.set_xscale("log")
    axis.margins(0.16, 0.12)
    if len(front) > 1:
        points = [(1 / contender.cell.steps_per_second, contender.cell.central_value) for contender in front]
        axis.plot(*zip(*points, strict=True), ls="--", lw=0.8, color=plots.QUIET, zorder=1)
        (x, y), (other_x, other_y) = points[-2:]
        labels.append(plots.Label((x * other_x) ** 0.5, (y + other_y) / 2, "Pareto front\n(significant)", plots.QUIET))
    axis.set_xticks(plots.round_ticks(*axis.get_xlim()))
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("seconds per training step")
    axis.set_ylabel("test accuracy (%)")
    text, transform = f"majority class {100 * majority_rate:.1f}", axis.get_yaxis_transform()
    axis.text(0.995, 100 * majority_rate, text, color=plots.QUIET, ha="right", va="bottom", transform=transform)
    marks = "large dot: mean over seeds (median if some did not converge); small: seeds"
    plots.write_title(figure, title, marks)
    highlighted_first = sorted(labels, key=lambda label: (label.colour == plots.GREY, label.colour != plots.INK))
    unplaced = plots.label_points(axis, highlighted_first, lines=lines)
    if unplaced:
        plots.write_title(figure, title, marks, f"{len(unplaced)} dots have no room for a name")
    return plots.save_figure(figure, path)
