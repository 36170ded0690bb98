"""Draw the figure of a landmark sweep: four plots against the number of landmarks, exact attention as a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from lra.results.landmarks import Point
from lra.results.plots import legend_name, majority_line, round_ticks, ticks_that_fit
from lra.results.text import for_figure

Value = tuple[float, float | None] | None


def plot_landmarks(points: list[Point], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy, time, memory and errors into a PNG or SVG.

    Small dots, or thin lines for exact attention, are the accuracies of single seeds. A bar is the standard deviation
    over seeds.
    """
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained", sharex=True)
    (accuracy, seconds), (memory, errors) = axes
    for name in dict.fromkeys(point.variant for point in points):
        mine = [point for point in points if point.variant == name]
        _draw(accuracy, mine, lambda point: (point.cell.mean, None), name)
        _draw_seeds(accuracy, mine)
        _draw(seconds, mine, lambda point: (1 / point.cell.steps_per_second, None), name)
        _draw(memory, mine, lambda point: (point.cell.peak_memory_bytes / 2**20, None), name)
        apart = name.removeprefix("nystrom")
        _draw(errors, mine, lambda point: point.pinv_residual, f"inverse{apart}  ‖AZA − A‖ / ‖A‖")
        _draw(errors, mine, lambda point: point.attention_error, f"attention{apart}  ‖Ŝ − S‖ / ‖S‖")
    majority_line(accuracy, majority_rate)
    accuracy.set_ylabel("test accuracy (%)")
    seconds.set_ylabel("seconds per training step")
    seconds.set_yscale("log")
    seconds.set_yticks(round_ticks(*seconds.get_ylim()))
    seconds.set_yticks([], minor=True)
    seconds.yaxis.set_major_formatter("{x:g}")
    memory.set_ylabel("peak memory (MiB)")
    errors.set_ylabel("relative error")
    counts = [point.num_landmarks for point in points if point.num_landmarks]
    for axis in axes.flat:
        axis.set_xscale("log", base=2)
        axis.set_xticks(ticks_that_fit(counts))
        axis.set_xticks([], minor=True)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("landmarks")
    spread = "small dots and thin lines: the seeds; bar: standard deviation over seeds"
    figure.suptitle(f"{for_figure(title)}\n{spread}", fontsize=11)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw(axis: Axes, points: list[Point], value: Callable[[Point], Value], label: str) -> None:
    """Draw one variant's curve with bars of its spread; exact attention, without landmarks, is a horizontal line."""
    drawn = [(point.num_landmarks, height) for point in points if (height := value(point)) is not None]
    exact = [height for count, height in drawn if count is None]
    swept = [(count, mean, std) for count, (mean, std) in drawn if count]
    for mean, _ in exact:
        colour = f"C{(2 + sum(line.get_linestyle() == '--' for line in axis.lines)) % 10}"  # from green on
        axis.axhline(mean, ls="--", color=colour, label=legend_name(label.replace("full", "exact attention", 1)))
    if swept:
        counts, means, spreads = zip(*swept, strict=True)
        some = any(std is not None for std in spreads)
        bars = [math.nan if std is None else std for std in spreads]  # one seed has no spread: it gets no bar
        axis.errorbar(counts, means, yerr=bars if some else None, marker="o", capsize=3, label=legend_name(label))


def _draw_seeds(axis: Axes, points: list[Point]) -> None:
    """Draw the accuracy of every seed in the colour of the curve, or of the line, that was drawn last."""
    colour = axis.lines[-1].get_color()
    for point in points:
        for accuracy in point.cell.accuracies if point.cell.count > 1 else ():
            if point.num_landmarks is None:
                axis.axhline(accuracy, ls="-", lw=0.6, alpha=0.6, color=colour)
            elif point.num_landmarks:
                axis.plot(point.num_landmarks, accuracy, ls="", marker=".", ms=6, alpha=0.6, color=colour)
