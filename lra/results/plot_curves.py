"""The picture of learning: the dev accuracy of every seed against its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.results.plots import legend_beside, legend_name, majority_line
from lra.results.schema import DevCurve
from lra.results.text import for_figure

LINES = ("-", "--", "-.", ":")  # the second ten of variants have the first ten's colours


def plot_curves(curves: Mapping[str, Sequence[DevCurve]], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw every variant's dev accuracy against the step, one line for each seed, into a PNG or SVG.

    Args:
        curves: by variant, those of its seeds.
        path: the file, by whose ending its format is chosen.
        title: above the figure.
        majority_rate: a fraction in [0, 1], drawn as a line.
    """
    figure, axis = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
    for number, (name, seeds) in enumerate(curves.items()):
        colour, line = f"C{number % 10}", LINES[number // 10 % len(LINES)]
        for label, curve in zip([legend_name(name), *[None] * len(seeds)], seeds, strict=False):
            heights = [100 * accuracy for accuracy in curve["accuracy"]]
            axis.plot(curve["step"], heights, color=colour, ls=line, alpha=0.8, lw=1.2, marker=".", ms=3, label=label)
    majority_line(axis, majority_rate)
    axis.set_xlabel("step")
    axis.set_ylabel("dev accuracy (%)")
    axis.set_title(for_figure(title), fontsize=9)
    axis.grid(alpha=0.3)
    legend_beside(figure, axis)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
