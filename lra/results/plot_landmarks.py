"""The picture of a landmark sweep: four curves against the number of landmarks, exact attention as a line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.results.landmarks import Point
from lra.results.text import for_figure

Value = tuple[float, float | None] | None


def plot_landmarks(points: list[Point], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy, time, memory and errors with bands of a standard deviation over seeds into a PNG or SVG."""
    swept = [point for point in points if point.num_landmarks is not None]
    exact = next((point for point in points if point.num_landmarks is None), None)
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained", sharex=True)
    (accuracy, seconds), (memory, errors) = axes
    _draw(accuracy, swept, exact, lambda point: (point.cell.mean, point.cell.std), "nystrom")
    accuracy.axhline(100 * majority_rate, ls=":", color="tab:red", label=f"majority class {100 * majority_rate:.1f}")
    accuracy.set_ylabel("test accuracy (%)")
    _draw(seconds, swept, exact, lambda point: (1 / point.cell.steps_per_second, None), "nystrom")
    seconds.set_ylabel("seconds per training step")
    _draw(memory, swept, exact, lambda point: (point.cell.peak_memory_bytes / 2**20, None), "nystrom")
    memory.set_ylabel("peak memory (MiB)")
    _draw(errors, swept, None, lambda point: point.pinv_residual, "inverse  ‖AZA − A‖ / ‖A‖")
    _draw(errors, swept, None, lambda point: point.attention_error, "attention  ‖Ŝ − S‖ / ‖S‖")
    errors.set_ylabel("relative error")
    for axis in axes.flat:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("landmarks")
    figure.suptitle(for_figure(title))
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw(axis: Any, points: list[Point], exact: Point | None, value: Callable[[Point], Value], label: str) -> None:
    """One curve with its band, and the same value of exact attention."""
    drawn = [(point.num_landmarks, found) for point in points if (found := value(point)) is not None]
    if drawn:
        counts, means = [count for count, _ in drawn], [mean for _, (mean, _) in drawn]
        (line,) = axis.plot(counts, means, marker="o", label=label)
        bands = [std or 0.0 for _, (_, std) in drawn]  # of one seed there is no spread: the band has no width there
        if any(bands):
            low, high = ([mean + sign * std for mean, std in zip(means, bands, strict=True)] for sign in (-1, 1))
            axis.fill_between(counts, low, high, alpha=0.2, color=line.get_color())
    wanted = None if exact is None else value(exact)
    if wanted is not None:
        axis.axhline(wanted[0], ls="--", color="tab:green", label="exact attention")
