"""Draw the figure of a landmark sweep: five plots against the number of landmarks, exact attention as a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from lra.base.text import for_figure
from lra.results.landmarks import Point
from lra.results.plots import legend_in_place, legend_name, majority_line, round_ticks, ticks_that_fit

Value = tuple[float, float | None] | None
DID_NOT_CONVERGE = 1.08  # height of such a seed, as a multiple of the latest convergence step


def plot_landmarks(points: list[Point], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy, convergence, time, memory and errors into a PNG or SVG; the legend has a place of its own.

    Small dots, or thin lines for exact attention, are single seeds. A bar is the standard deviation over seeds. A cross
    is a seed that did not converge, and so is a dotted thin line.
    """
    figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained", sharex=True)
    (accuracy, convergence, unused), (seconds, memory, errors) = axes
    latest = max((step or 0 for point in points for step in point.convergence_steps.values()), default=0)
    for number, name in enumerate(dict.fromkeys(point.variant for point in points)):
        color = f"C{number % 10}"
        mine = [point for point in points if point.variant == name]
        label = legend_name(name.replace("full", "exact attention", 1))
        _draw(accuracy, [(point, (point.cell.middle, None)) for point in mine], color, label=label)
        _draw(seconds, [(point, (1 / point.cell.steps_per_second, None)) for point in mine], color)
        _draw(memory, [(point, (point.cell.peak_memory_bytes / 2**20, None)) for point in mine], color)
        _draw(errors, [(point, point.attention_error) for point in mine], color)
        _draw(errors, [(point, point.pinv_residual) for point in mine], color, ls=":", marker="s")
        for point in mine:
            _draw_seeds(accuracy, point, point.cell.accuracies if point.cell.count > 1 else (), color)
            steps = list(point.convergence_steps.values())
            _draw_seeds(convergence, point, [step for step in steps if step is not None], color)
            failed = [DID_NOT_CONVERGE * latest for step in steps if step is None]
            _draw_seeds(convergence, point, failed, color, marker="x")
    majority_line(accuracy, majority_rate)
    marks = {
        "a seed": Line2D([], [], marker=".", ls=""),
        "a seed that did not converge": Line2D([], [], marker="x", ls=""),
        "attention  ‖Ŝ − S‖ / ‖S‖": Line2D([], [], marker="o"),
        "inverse  ‖AZA − A‖ / ‖A‖": Line2D([], [], marker="s", ls=":"),
    }
    for label, line in marks.items():
        line.set(color="tab:gray", label=label)
    unused.remove()
    accuracy.set_ylabel("test accuracy (%)")
    convergence.set_ylabel("convergence step")
    convergence.set_ylim(bottom=0)
    seconds.set_ylabel("seconds per training step")
    seconds.set_yscale("log")
    seconds.set_yticks(round_ticks(*seconds.get_ylim()))
    seconds.set_yticks([], minor=True)
    seconds.yaxis.set_major_formatter("{x:g}")
    memory.set_ylabel("peak memory (MiB)")
    errors.set_ylabel("relative error")
    counts = [point.num_landmarks for point in points if point.num_landmarks]
    for axis in (accuracy, convergence, seconds, memory, errors):
        axis.set_xscale("log", base=2)
        axis.set_xticks(ticks_that_fit(counts))
        axis.set_xticks([], minor=True)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.grid(alpha=0.3)
        axis.set_xlabel("landmarks")
    spread = "mean over seeds, or median where some did not converge; bar: standard deviation over seeds"
    figure.suptitle(f"{for_figure(title)}\n{spread}", fontsize=9)
    legend_in_place(figure, accuracy, list(marks.values()), (0.69, 0.93), 0.42)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw(
    axis: Axes, values: list[tuple[Point, Value]], color: str, *, label: str = "", marker: str = "o", ls: str = "-"
) -> None:
    """Draw one variant's curve with bars of its spread; exact attention, without landmarks, is a horizontal line."""
    swept = []
    for point, value in values:
        if value is not None and point.num_landmarks is None:
            axis.axhline(value[0], ls="--", color=color, label=label)
        elif value is not None and point.num_landmarks:
            swept.append((point.num_landmarks, *value))
    if swept:
        counts, means, spreads = zip(*swept, strict=True)
        bars = [math.nan if std is None else std for std in spreads]  # one seed has no spread: it gets no bar
        some = any(std is not None for std in spreads)
        look: dict[str, Any] = {"marker": marker, "ms": 4, "capsize": 3, "ls": ls, "color": color, "label": label}
        axis.errorbar(counts, means, yerr=bars if some else None, **look)


def _draw_seeds(axis: Axes, point: Point, heights: Sequence[float], color: str, marker: str = ".") -> None:
    """Draw one value for each seed: a mark at the point's landmarks, or a thin line for exact attention."""
    for height in heights:
        if point.num_landmarks is None:
            axis.axhline(height, lw=0.6, ls=":" if marker == "x" else "-", alpha=0.6, color=color)
        elif point.num_landmarks:
            axis.plot(point.num_landmarks, height, ls="", marker=marker, ms=6, alpha=0.6, color=color)
