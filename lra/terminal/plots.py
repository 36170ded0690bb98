"""Axes that several figures share, and the contact sheet of images."""

import math
from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lra.terminal import figure_style
from lra.terminal.figure_style import QUIET

MOST_TICKS = 9  # numbers below an axis of four inches
KIBI = 1024
ROOM_BELOW = 0.6  # of the height of what is drawn: so far below it the majority class may be, to be drawn too


def ticks_that_fit(values: Iterable[float], *, most: int = MOST_TICKS) -> list[float]:
    """Choose those of some positive values whose numbers do not collide on a logarithmic axis, the least first."""
    ordered = sorted(set(values))
    if not ordered:
        return []
    least_ratio = (ordered[-1] / ordered[0]) ** (1 / most)
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
    return inside if len(inside) > 2 else [value for value in round_numbers(5).tick_values(low, high) if value > 0]


def round_numbers(most: int) -> plt.MaxNLocator:
    """Place at most so many numbers, and one more, along an axis: multiples of 1, 2 or 5, as readers expect them."""
    return plt.MaxNLocator(most, steps=[1, 2, 5, 10])


def count_axis(axis: Axes, counts: Iterable[float], *, most: int = MOST_TICKS) -> None:
    """Make the lower axis one of counts or lengths: logarithmic, with whole numbers that do not collide."""
    axis.set_xscale("log", base=2)
    ticks = ticks_that_fit(counts, most=most)
    axis.set_xticks(ticks, [count_text(tick) for tick in ticks])
    axis.set_xticks([], minor=True)


def count_text(count: float) -> str:
    """Write a count below an axis: multiples of 1,024 as `4k`."""
    return f"{count / KIBI:.0f}k" if count >= KIBI and count % KIBI == 0 else f"{count:.0f}"


def majority_line(axis: Axes, majority_rate: float) -> None:
    """Draw what the most frequent class alone gives, a fraction in [0, 1], as a line across an axis in percent."""
    axis.axhline(100 * majority_rate, ls=(0, (1, 1.5)), lw=1, color=QUIET, label="majority class", zorder=1)


def majority_line_if_near(axis: Axes, majority_rate: float, values: Iterable[float]) -> str:
    """Draw the line of the majority class, or return a sentence for the caption where it is far below all values.

    An axis down to there would have no room to show how the values, in percent, differ.
    """
    values = list(values)
    low, high = min(values), max(values)
    if 100 * majority_rate >= low - ROOM_BELOW * max(high - low, 2.0):
        majority_line(axis, majority_rate)
        return ""
    return f"The majority class alone has {100 * majority_rate:.1f} %, below the axis."


def contact_sheet(images: list[np.ndarray], labels: list[int], path: Path, columns: int = 8) -> Path:
    """Draw grey images `[side, side]` uint8 side by side into a PNG, each with its label above."""
    rows = -(-len(images) // columns)
    width = figure_style.WIDTHS[2]
    with plt.rc_context(figure_style.STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=(width, 1.15 * width / columns * rows), layout="constrained", squeeze=False
        )
        for axis in axes.flat:
            axis.axis("off")
        for axis, image, label in zip(axes.flat, images, labels, strict=False):
            axis.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axis.set_title(str(label), pad=1)
        figure.savefig(path)
        plt.close(figure)
    return path
