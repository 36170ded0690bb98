"""Parts that several figures share, the figure of a run's learning curves, and contact sheets of images."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from lra.base.files import replacing
from lra.base.text import for_figure, visible

LEGEND_LETTERS = 32  # width of a name in a legend
STYLES: dict[str, dict[str, Any]] = {"train": {"alpha": 0.5, "color": "tab:gray"}, "dev": {"marker": "o", "ms": 3}}
OF_THE_MACHINE = {  # the small panels: for each column of metrics.csv its label, and what it is divided by
    "learning_rate": ("learning rate", 1),
    "steps_per_second": ("steps per second", 1),
    "peak_memory_bytes": ("peak memory (MiB)", 2**20),
}
OF_TEST = " of the test split"
MOST_TICKS = 9  # numbers below an axis of four inches


def legend_name(name: str) -> str:
    """Break a long name into lines, so that a legend stays narrow."""
    lines = textwrap.wrap(visible(name), LEGEND_LETTERS, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(map(for_figure, lines))


def legend_beside(figure: Figure, axis: Axes, more: Sequence[Artist] = ()) -> None:
    """Put the legend of an axis to the right of all, where it covers nothing; a long one makes the figure higher.

    Args:
        figure, axis: the figure, and its axis whose lines the legend names.
        more: other lines to name, by their labels.
    """
    legend = figure.legend(handles=_named(axis, more), loc="outside right upper", fontsize=8)
    _make_room(figure, legend, 1.0)


def legend_in_place(
    figure: Figure, axis: Axes, more: Sequence[Artist], corner: tuple[float, float], height: float
) -> None:
    """Put the legend of an axis into an empty part of the figure; a long one makes the figure higher.

    Args:
        figure, axis, more: as for `legend_beside`.
        corner: upper left corner of the part, in fractions of the figure's width and height.
        height: that of the part, as a fraction of the figure's.
    """
    legend = figure.legend(handles=_named(axis, more), loc="upper left", bbox_to_anchor=corner, fontsize=8)
    legend.set_in_layout(False)
    _make_room(figure, legend, height)


def _named(axis: Axes, more: Sequence[Artist]) -> list[Artist]:
    return [*axis.get_legend_handles_labels()[0], *more]


def _make_room(figure: Figure, legend: Legend, height: float) -> None:
    inches = legend.get_window_extent().height / figure.dpi
    figure.set_figheight(max(figure.get_figheight(), (inches + 0.3) / height))


def ticks_that_fit(values: Iterable[float]) -> list[float]:
    """Choose those of some positive values whose numbers do not collide on a logarithmic axis, the least first."""
    ordered = sorted(set(values))
    if not ordered:
        return []
    least_ratio = (ordered[-1] / ordered[0]) ** (1 / MOST_TICKS)
    chosen = ordered[:1]
    for value in ordered[1:]:
        if value >= chosen[-1] * least_ratio:
            chosen.append(value)
    return chosen


def round_ticks(low: float, high: float) -> list[float]:
    """Choose a few round numbers from `low` to `high`, for a logarithmic axis; both are above 0."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    rounds = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    inside = [value for value in rounds if low <= value <= high]
    return inside if len(inside) > 2 else [value for value in plt.MaxNLocator(5).tick_values(low, high) if value > 0]


def majority_line(axis: Axes, majority_rate: float, *, of: str = "") -> None:
    """Draw what the most frequent class alone gives, a fraction in [0, 1], as a line across an axis in percent.

    Args:
        axis: where.
        majority_rate: the fraction.
        of: words for the split, where the axis is of another one.
    """
    axis.axhline(100 * majority_rate, ls=":", color="tab:red", label=f"majority class{of} {100 * majority_rate:.1f}")


def learning_curve(
    curves: list[dict[str, float]],
    path: Path,
    *,
    title: str,
    majority_rate: float,
    paper_accuracy: float | None,
) -> Path:
    """Draw loss and accuracy against the step into a PNG; below them learning rate, speed and memory.

    Args:
        curves: rows of `metrics.csv`; accuracies are fractions in [0, 1].
        path: the PNG file.
        title: title of the figure.
        majority_rate: accuracy of the majority class of the test split, a fraction in [0, 1].
        paper_accuracy: the paper's accuracy in percent; None: no line is drawn.
    """
    figure = plt.figure(figsize=(10, 6), layout="constrained")
    grid = figure.add_gridspec(2, 6, height_ratios=(2.4, 1))
    loss, accuracy = figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[0, 3:])
    for axis, metric in ((loss, "loss"), (accuracy, "accuracy")):
        scale = 100 if metric == "accuracy" else 1
        for split, style in STYLES.items():
            points = [(row["step"], scale * row[f"{split}/{metric}"]) for row in curves if f"{split}/{metric}" in row]
            if points:
                axis.plot(*zip(*points, strict=True), label=split, **style)
        axis.set_xlabel("step")
    loss.set_ylabel("cross-entropy")
    accuracy.set_ylabel("accuracy (%)")
    majority_line(accuracy, majority_rate, of=OF_TEST)
    if paper_accuracy is not None:
        accuracy.axhline(paper_accuracy, ls="--", color="tab:green", label=f"paper, full run {paper_accuracy:.2f}")
    for axis in (loss, accuracy):
        axis.grid(alpha=0.3)
    named = {
        label: line for axis in (loss, accuracy) for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(named.values(), named, loc="outside lower center", ncols=len(named), fontsize=8)
    for place, (metric, (label, scale)) in enumerate(OF_THE_MACHINE.items()):
        axis = figure.add_subplot(grid[1, 2 * place : 2 * place + 2])
        points = [(row["step"], row[metric] / scale) for row in curves if metric in row]
        axis.plot([step for step, _ in points], [value for _, value in points], color="tab:gray", lw=1)
        axis.set_ylim(bottom=0)
        axis.set_ylabel(label, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
    figure.suptitle(for_figure(title))
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=120, format="png")
    plt.close(figure)
    return path


def contact_sheet(images: list[np.ndarray], labels: list[int], path: Path, columns: int = 8) -> Path:
    """Draw grey images `[side, side]` uint8 side by side into a PNG, each with its label above."""
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(columns, 1.15 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, image, label in zip(axes.flat, images, labels, strict=False):
        axis.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axis.set_title(str(label), fontsize=7, pad=1)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path
