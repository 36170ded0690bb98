"""Learning curves: those of one run, and the dev accuracy of every seed of several variants."""

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from lra.runs.schema import DevCurve
from lra.tables.variants import natural
from lra.terminal import plots

MOST_SEEDS = len(plots.PALETTE)  # of more seeds, which no eye tells apart, all are one line with gaps
LETTERS = 21  # above a panel of a third of a column
MOST_COLUMNS = 3  # panels side by side


@plots.for_a_column
def plot_curves(curves: Mapping[str, Mapping[int, DevCurve]], path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw every variant's dev accuracy against the step into a file: a panel for a variant, a colour for a seed.

    The curves are by variant, and there by seed; the majority rate of the test split, in [0, 1], is a line.
    """
    columns = min(len(curves), MOST_COLUMNS)
    rows = -(-len(curves) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(plots.COLUMN, 2.4 if len(curves) == 1 else 0.95 * rows + 0.9),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    colours = dict(zip(sorted({seed for seeds in curves.values() for seed in seeds}), plots.PALETTE, strict=False))
    single = len({seed for seeds in curves.values() for seed in seeds}) <= MOST_SEEDS
    for axis, (name, seeds) in zip(axes.flat, curves.items(), strict=False):
        for seed, curve in sorted(seeds.items()) if single else ():
            heights = [100 * accuracy for accuracy in curve["accuracy"]]
            (line,) = axis.plot(curve["step"], heights, color=colours[seed], lw=0.8, label=f"seed {seed}")
            plots.hover(line, f"{name}, seed {seed}: {heights[-1]:.2f} % at step {curve['step'][-1]:,}")
        if not single:
            steps = [step for curve in seeds.values() for step in (*curve["step"], math.nan)]
            heights = [100 * accuracy for curve in seeds.values() for accuracy in (*curve["accuracy"], math.nan)]
            axis.plot(steps, heights, color=plots.PALETTE[0], alpha=0.5, lw=0.5, label=f"{len(seeds)} seeds")
        plots.majority_line(axis, majority_rate, of=plots.OF_TEST)
        shown = plots.short_name(name, letters=LETTERS if columns > 1 else 3 * LETTERS)
        axis.set_title(shown, fontsize=6 if columns > 1 else 7, pad=2)
    for axis in axes.flat[len(curves) :]:
        axis.set_visible(False)
    for column in axes.T:
        lowest = [axis for axis in column if axis.get_visible()][-1]
        lowest.xaxis.set_tick_params(labelbottom=True)
        lowest.set_xlabel("step")
    axes[0, 0].xaxis.set_major_locator(plt.MaxNLocator(3 if columns > 1 else 6))
    figure.supylabel("dev accuracy (%)")
    plots.write_title(figure, title)
    drawn = axes.flat[: len(curves)]
    plots.legend_below(figure, drawn, columns=3, order=lambda label: (not label.startswith("seed"), natural(label)))
    return plots.save_figure(figure, path)
