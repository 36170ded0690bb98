"""The picture of learning: the dev accuracy of every seed against its steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.base.text import for_figure
from lra.results.plots import OF_TEST, legend_name, majority_line
from lra.results.variants import natural
from lra.runs.schema import DevCurve

LINES = ("-", "--", "-.", ":")  # the second ten of seeds have the first ten's colours
MOST_SEEDS = 10 * len(LINES)  # of more seeds, which no eye tells apart, all are one line with gaps
MOST_COLUMNS = 5  # panels side by side


def plot_curves(curves: Mapping[str, Mapping[int, DevCurve]], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw every variant's dev accuracy against the step into a PNG or SVG: a panel for a variant, a colour for a seed.

    Args:
        curves: by variant, and there by seed.
        path: the file, by whose ending its format is chosen.
        title: above the figure.
        majority_rate: that of the test split, a fraction in [0, 1], drawn as a line.
    """
    columns = min(len(curves), MOST_COLUMNS)
    rows = -(-len(curves) // columns)
    size = (8.5, 4.5) if len(curves) == 1 else (max(7.0, 2.6 * columns), 2 * rows + 1.2)
    figure, axes = plt.subplots(
        rows, columns, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    places = {seed: place for place, seed in enumerate(sorted({seed for seeds in curves.values() for seed in seeds}))}
    for axis, (name, seeds) in zip(axes.flat, curves.items(), strict=False):
        for seed, curve in sorted(seeds.items()) if len(places) <= MOST_SEEDS else ():
            look = {"color": f"C{places[seed] % 10}", "ls": LINES[places[seed] // 10 % len(LINES)]}
            heights = [100 * accuracy for accuracy in curve["accuracy"]]
            axis.plot(curve["step"], heights, **look, alpha=0.8, lw=1.2, marker=".", ms=3, label=f"seed {seed}")
        if len(places) > MOST_SEEDS:
            steps = [step for curve in seeds.values() for step in (*curve["step"], math.nan)]
            heights = [100 * accuracy for curve in seeds.values() for accuracy in (*curve["accuracy"], math.nan)]
            axis.plot(steps, heights, color="C0", alpha=0.5, lw=0.8, label=f"{len(places)} seeds")
        majority_line(axis, majority_rate, of=OF_TEST)
        axis.set_title(legend_name(name), fontsize=8)
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(curves) :]:
        axis.set_visible(False)
    for column in axes.T:
        lowest = [axis for axis in column if axis.get_visible()][-1]
        lowest.xaxis.set_tick_params(labelbottom=True)
        lowest.set_xlabel("step")
    figure.supylabel("dev accuracy (%)", fontsize=10)
    figure.suptitle(for_figure(title), fontsize=9)
    named = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    seeds_first = sorted(named, key=lambda label: (not label.startswith("seed"), natural(label)))
    lines = [named[label] for label in seeds_first]
    figure.legend(lines, seeds_first, loc="outside lower center", ncols=max(4, 2 * columns), fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
