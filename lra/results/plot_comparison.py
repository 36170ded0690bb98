"""Draw the figure of a comparison: accuracy against time, with the Pareto front."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.base.text import for_figure
from lra.results.comparison import Contender
from lra.results.pareto import pareto_front
from lra.results.plots import legend_beside, legend_name, majority_line, round_ticks
from lra.results.variants import natural

SHAPES = "osDv^P*X<"  # nine, beside ten colours: ninety variants look different


def plot_pareto(compared: list[Contender], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy against seconds per step into a PNG or SVG; small dots on a line are the seeds of a mean,
    or of a median where some seeds converged and others did not.

    The area of a large dot is proportional to peak memory. A black edge marks those of the Pareto front.
    """
    figure, axis = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
    most = max(contender.cell.peak_memory_bytes for contender in compared)
    ranks = {name: rank for rank, name in enumerate(sorted((one.name for one in compared), key=natural))}
    for contender in compared:
        rank = ranks[contender.name]  # so the colours are those of the learning curves
        cell, shape, colour = contender.cell, SHAPES[rank % len(SHAPES)], f"C{rank % 10}"
        seconds, area = 1 / cell.steps_per_second, 300 * cell.peak_memory_bytes / most
        axis.scatter(seconds, cell.middle, s=area, marker=shape, color=colour, alpha=0.5)
        axis.plot(seconds, cell.middle, ls="", marker=shape, ms=6, color=colour, label=legend_name(contender.name))
        if cell.count > 1:
            axis.plot([seconds] * cell.count, sorted(cell.accuracies), color=colour, lw=1, marker=".", ms=5, alpha=0.8)
    front = pareto_front(compared)
    if len(front) > 1:
        places = [(1 / contender.cell.steps_per_second, contender.cell.middle) for contender in front]
        edge = {"ls": "", "marker": "o", "ms": 12, "mfc": "none", "mec": plt.rcParams["text.color"], "zorder": 3}
        label = "Pareto front: each is significantly more\naccurate than the faster ones (paired t)"
        axis.plot(*zip(*places, strict=True), **edge, label=label)
    majority_line(axis, majority_rate)
    axis.set_xscale("log")
    axis.margins(0.15)
    axis.set_xticks(round_ticks(*axis.get_xlim()))
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("seconds per training step")
    axis.set_ylabel("test accuracy (%)")
    marks = "mean over seeds (median where some did not converge)\nsmall dots: the seeds; area: peak memory"
    axis.set_title(f"{for_figure(title)}\n{marks}", fontsize=9)
    axis.grid(alpha=0.3)
    legend_beside(figure, axis)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
