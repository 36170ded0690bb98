"""Draw the figure of a comparison: accuracy against time, with the Pareto front."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.results.comparison import Contender
from lra.results.plots import majority_line
from lra.results.text import for_figure


def pareto_front(compared: list[Contender]) -> list[Contender]:
    """Select the contenders than which no other is both faster and more accurate, the fastest first."""
    front: list[Contender] = []
    for contender in sorted(compared, key=lambda contender: (-contender.cell.steps_per_second, -contender.cell.mean)):
        if not front or contender.cell.mean > front[-1].cell.mean:
            front.append(contender)
    return front


def plot_pareto(compared: list[Contender], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy (spread over seeds, or noise of one test) against seconds per step into a PNG or SVG.

    The area of a dot is proportional to peak memory; the line joins the Pareto front.
    """
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    most = max(contender.cell.peak_memory_bytes for contender in compared)
    for contender in compared:
        cell = contender.cell
        seconds, error = 1 / cell.steps_per_second, cell.noise if cell.std is None else cell.std
        dots = axis.scatter(seconds, cell.mean, s=400 * cell.peak_memory_bytes / most, alpha=0.5)
        axis.errorbar(seconds, cell.mean, yerr=error, capsize=3, color=dots.get_facecolor()[0], alpha=1)
        axis.annotate(for_figure(contender.name), (seconds, cell.mean), xytext=(8, 8), textcoords="offset points")
    front = pareto_front(compared)
    axis.plot(
        [1 / contender.cell.steps_per_second for contender in front],
        [contender.cell.mean for contender in front],
        color="tab:gray",
        lw=1,
        zorder=0,
        label="Pareto front",
    )
    majority_line(axis, majority_rate)
    axis.set_xscale("log")
    for ticks in (axis.xaxis.set_major_formatter, axis.xaxis.set_minor_formatter):
        ticks("{x:g}")
    axis.set_xlabel("seconds per training step")
    axis.set_ylabel("test accuracy (%)")
    axis.set_title(
        f"{for_figure(title)}\nbars: standard deviation over seeds (one seed: noise of the test); area: memory",
        fontsize=9,
    )
    axis.margins(0.15)
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
