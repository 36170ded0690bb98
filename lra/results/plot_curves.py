"""The picture of learning: the dev accuracy of every seed against its steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.results.plots import OF_TEST, legend_beside, legend_name, majority_line
from lra.results.schema import DevCurve
from lra.results.text import for_figure

LINES = ("-", "--", "-.", ":")  # the second ten of variants have the first ten's colours


def plot_curves(curves: Mapping[str, Mapping[int, DevCurve]], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw every variant's dev accuracy against the step, one line for each seed, into a PNG or SVG.

    A colour stands for a variant; if there is only one, each of its seeds has a colour of its own.

    Args:
        curves: by variant, and there by seed.
        path: the file, by whose ending its format is chosen.
        title: above the figure.
        majority_rate: that of the test split, a fraction in [0, 1], drawn as a line.
    """
    figure, axis = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
    groups = {legend_name(name): list(seeds.values()) for name, seeds in curves.items()}
    if len(curves) == 1:
        ((name, seeds),) = curves.items()
        groups = {legend_name(f"{name}, seed {seed}"): [curve] for seed, curve in sorted(seeds.items())}
    for number, (label, members) in enumerate(groups.items()):
        colour, line = f"C{number % 10}", LINES[number // 10 % len(LINES)]
        for place, curve in enumerate(members):
            heights = [100 * accuracy for accuracy in curve["accuracy"]]
            shown = None if place else label  # one entry of the legend for all seeds
            axis.plot(curve["step"], heights, color=colour, ls=line, alpha=0.8, lw=1.2, marker=".", ms=3, label=shown)
    majority_line(axis, majority_rate, of=OF_TEST)
    axis.set_xlabel("step")
    axis.set_ylabel("dev accuracy (%)")
    axis.set_title(for_figure(title), fontsize=9)
    axis.grid(alpha=0.3)
    legend_beside(figure, axis)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
