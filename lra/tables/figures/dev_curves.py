"""Learning curves of many runs: the dev accuracy of every seed of several variants."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lra.runs.schema import DevCurve
from lra.tables.variants import natural
from lra.terminal import figure_names, figure_style, plots
from lra.terminal.display_names import display_name
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import DASH_DOT_DOT, PALETTE, WIDTHS, hover

Curves = Mapping[str, Mapping[int, DevCurve]]  # by variant and seed
MOST_SEEDS = 6  # of more seeds, which no eye tells apart, all are one line with gaps
MOST_PANELS = {1: 3, 2: 5}  # side by side, by the number of the paper's columns
LETTERS_OF_INCH = 13  # of a panel's name
PANEL, PANEL_OF_ONE_ROW, LONE_PANEL, AROUND = 0.95, 1.15, 2.0, 0.6  # heights in inches
LEAST_IN_THOUSANDS = 10_000  # steps, on a narrow axis
MULTIPLES_OF_NARROW = [1, 2, 4, 5, 10]  # of a power of ten, on a narrow axis: of 800 steps it has 400 and 800
MOST_LINES = 4  # of a legend in the place of a panel
DASHES: tuple[Any, ...] = (  # of each seed, so that it is found in grey too: lengths of lines and gaps, in line widths
    "-", "--", "-.", (0, (9, 2, 2, 2)), DASH_DOT_DOT, (0, (9, 2)),
)  # fmt: skip


def curves_to_draw(curves: Curves) -> tuple[dict[str, dict[int, DevCurve]], list[str]]:
    """Select the curves that are lines, those of two dev passes or more; return a line for each variant without one."""
    kept = {
        name: {seed: curve for seed, curve in seeds.items() if len(curve["step"]) > 1} for name, seeds in curves.items()
    }
    left_out = [f"no panel of {name}: its runs have one dev pass" for name, seeds in kept.items() if not seeds]
    return {name: seeds for name, seeds in kept.items() if seeds}, left_out


@figure_style.for_a_paper
def plot_curves(curves: Curves, path: Path, *, title: str, majority_rate: float, columns: int = 2) -> Drawn:
    """Draw every variant's dev accuracy against the step into a file: a panel for a variant, a colour for a seed.

    The curves are by variant, and there by seed, some of two dev passes or more; the majority rate of the test split,
    in [0, 1], is a line.
    """
    drawn, left_out = curves_to_draw(curves)
    across = min(len(drawn), MOST_PANELS[columns])
    rows = -(-len(drawn) // across)
    figure, axes = plt.subplots(
        rows,
        across,
        figsize=(WIDTHS[columns], AROUND + _height(len(drawn), rows)),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    seeds_of_all = sorted({seed for seeds in drawn.values() for seed in seeds})
    for axis, (name, seeds) in zip(axes.flat, drawn.items(), strict=False):
        if len(seeds_of_all) <= MOST_SEEDS:
            _draw_seeds(axis, name, seeds, seeds_of_all)
        else:
            steps = [step for curve in seeds.values() for step in (*curve["step"], math.nan)]
            heights = [100 * accuracy for curve in seeds.values() for accuracy in (*curve["accuracy"], math.nan)]
            axis.plot(steps, heights, color=PALETTE[0], alpha=0.5, lw=0.5, label=f"{len(seeds)} seeds")
        plots.majority_line(axis, majority_rate)
        axis.set_title(figure_names.short_name(name, letters=int(LETTERS_OF_INCH * WIDTHS[columns] / across)))
    narrow = across > 1 and columns == 1
    numbers = plt.MaxNLocator(2, steps=MULTIPLES_OF_NARROW) if narrow else plots.round_numbers(3 if across > 1 else 6)
    axes[0, 0].xaxis.set_major_locator(numbers)
    in_thousands = narrow and axes[0, 0].get_xlim()[1] >= LEAST_IN_THOUSANDS
    if in_thousands:
        axes[0, 0].xaxis.set_major_formatter(lambda step, _: f"{step / 1000:g}")
    figure.supylabel("dev accuracy (%)")
    for axis in axes[-1]:
        axis.set_xlabel("1,000 steps" if in_thousands else "step")
    empty = axes.flat[len(drawn) :]
    for axis in empty:
        axis.axis("off")
    _legend(figure, [*axes.flat[: len(drawn)]], [*empty], across)
    _label_lowest(figure, axes)
    caption = figure_names.caption_of(
        title,
        "Dev accuracy of each seed against the training step.",
        f"Dotted: the majority class of the test split, {100 * majority_rate:.1f} %.",
    )
    return figure_style.save_figure(figure, path, caption=caption, left_out=left_out)


def _height(panels: int, rows: int) -> float:
    if panels == 1:
        return LONE_PANEL
    return PANEL_OF_ONE_ROW if rows == 1 else PANEL * rows


def _draw_seeds(axis: Axes, name: str, seeds: Mapping[int, DevCurve], seeds_of_all: list[int]) -> None:
    for seed, curve in sorted(seeds.items()):
        place = seeds_of_all.index(seed)
        heights = [100 * accuracy for accuracy in curve["accuracy"]]
        (line,) = axis.plot(
            curve["step"],
            heights,
            color=PALETTE[place],
            ls=DASHES[place],
            lw=0.9,
            label=f"seed {seed}",
        )
        hover(line, f"{display_name(name)}, seed {seed}: {heights[-1]:.2f} % at step {curve['step'][-1]:,}")


def _legend(figure: Figure, drawn: Sequence[Axes], empty: Sequence[Axes], width_in_panels: int) -> None:
    """Put one legend where panels are empty, or else below all."""
    named = {label: line for axis in drawn for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    labels = sorted(named, key=_seeds_first)
    lines = [named[label] for label in labels]
    across = -(-len(labels) // MOST_LINES)
    room = 72 * figure.get_figwidth() * len(empty) / width_in_panels
    if room >= across * figure_names.width_in_legend(labels):
        legend = empty[0].legend(lines, labels, loc="lower left", ncols=across, handlelength=figure_names.HANDLE)
        legend.set_in_layout(False)
    else:
        figure_names.legend_below(figure, drawn, order=_seeds_first)


def _seeds_first(label: str) -> tuple[bool, Any]:
    return not label.startswith("seed"), natural(label)


def _label_lowest(figure: Figure, axes: np.ndarray) -> None:
    """Write the steps below the lowest panel of each column, where others have a row more; the layout stays."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(0, 0, 0.99, 1))  # type: ignore[call-arg]  # the last step reaches beyond its axis
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for column in axes.T:
        lowest = [axis for axis in column if axis.axison][-1]
        lowest.xaxis.set_tick_params(labelbottom=True)
