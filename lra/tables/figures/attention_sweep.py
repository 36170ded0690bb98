"""Draw the figure of a sweep over one number of an attention; attentions without this number are lines."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from lra.tables.attention_sweep import EXACT, WHOLE, MeanAndStd, Point, SweptNumber, sweep_ranges
from lra.terminal import plots

Value = MeanAndStd | None
DID_NOT_CONVERGE = 1.08  # height of such a seed, as a multiple of the latest convergence step
LEFT, RIGHT = 0.001, 1e9  # beyond the ends of an axis
HEIGHT, HEIGHTS = 4.6, (1.3, 1.0, 1.0)  # inches of three rows, and their parts of it


@plots.for_a_column
def plot_sweep(points: list[Point], swept: SweptNumber, path: Path, *, title: str, majority_rate: float) -> Path:
    """Draw accuracy, convergence and time into a file, with names beside the lines of accuracy; memory and errors too.

    That line is the number of the table: the mean over seeds, or the median where only some converged; dots are the
    seeds. Attentions without the number, such as exact attention, are horizontal lines. Bars of the errors are standard
    deviations over seeds. A cross is a seed that did not converge. An upright line is the range. Memory and errors are
    of a sweep that `approximates`.
    """
    panels: Any = [["accuracy", "accuracy"], ["convergence", "seconds"], ["memory", "errors"]][: 2 + swept.approximates]
    heights = HEIGHTS[: len(panels)]
    figure, axes = plt.subplot_mosaic(
        panels,
        figsize=(plots.COLUMN, HEIGHT * sum(heights) / sum(HEIGHTS)),
        layout="constrained",
        sharex=True,
        height_ratios=heights,
    )
    curves: list[tuple[str, str, Callable[[Point], Value]]] = [
        ("accuracy", "-", lambda point: (point.cell.central_value, None)),
        ("seconds", "-", lambda point: (1 / point.cell.steps_per_second, None)),
        ("memory", "-", lambda point: (point.cell.peak_memory_bytes / 2**20, None)),
        ("errors", "-", lambda point: point.attention_error),
        ("errors", ":", lambda point: point.pinv_residual),
    ]
    latest = max((step or 0 for point in points for step in point.convergence_steps.values()), default=0)
    labels, levels, segments, failed_kinds = [], [100 * majority_rate], [], set()
    counts = [point.number for point in points if point.number]
    colours = plots.colours_of(list(dict.fromkeys(point.variant for point in points)))
    for name, colour in colours.items():
        of_name = [point for point in points if point.variant == name]
        for key, style, value in curves:
            if key in axes:
                _draw(axes[key], [(point, value(point)) for point in of_name], swept.head, colour, style)
        for point in of_name:
            _draw_seeds(axes["accuracy"], point, point.cell.accuracies if point.cell.count > 1 else (), colour)
            steps = list(point.convergence_steps.values())
            _draw_seeds(axes["convergence"], point, [step for step in steps if step is not None], colour)
            failed = [DID_NOT_CONVERGE * latest for step in steps if step is None]
            _draw_seeds(axes["convergence"], point, failed, colour, marker="x")
            failed_kinds |= {point.method if point.number is None else ""} if failed else set()
            if point.number is None:
                levels += [point.cell.central_value, *point.cell.accuracies]
        heights_of = [(point.number, point.cell.central_value) for point in of_name]
        segments += [Bbox([[x or LEFT, y], [to or RIGHT, height]]) for (x, y), (to, height) in pairwise(heights_of)]
        middle = of_name[len(of_name) // 2]
        at = middle.number or (math.sqrt(min(counts) * max(counts)) if counts else 1)
        shown = plots.short_name(name.replace("full", "exact attention", 1) if middle.number is None else name)
        labels.append(plots.Label(at, middle.cell.central_value, shown, colour))
    plots.majority_line(axes["accuracy"], majority_rate)
    _set_axes(axes, counts, swept.head)
    text = f"majority class {100 * majority_rate:.1f}"
    labels.append(plots.Label(max(counts, default=1), 100 * majority_rate, text, plots.QUIET))
    mixed = any(point.cell.partly_converged for point in points)
    medians = ", or medians where only some converged" if mixed else ""
    bars = " (errors: with bars of SD)" if swept.approximates else ""
    marks = f"Lines: means of the seeds{medians}{bars}; dots: seeds."
    shown_as = {"": "crosses", EXACT: "a dotted line of exact attention"}
    failed_as = " or ".join(shown_as.get(kind, f"a dotted line of {kind}") for kind in sorted(failed_kinds))
    crosses = f"A seed that did not converge: {failed_as}." if failed_as else ""
    errors = "Relative error: ‖Ŝ − S‖ / ‖S‖ of attention, dotted ‖AZA − A‖ / ‖A‖." if swept.approximates else ""
    above = [title, marks, crosses, errors]
    for name, found in sweep_ranges(points, swept).items():
        above.append(f"Range: {found}{'' if found.width in (None, WHOLE) else ' (upright line)'}.")
        if found.width not in (None, WHOLE):
            axes["accuracy"].axvline(found.width, ls="-.", lw=0.8, color=colours[name])
    plots.write_title(figure, *above)
    lines = [*segments, *(Bbox([[LEFT, height], [RIGHT, height]]) for height in levels)]
    unplaced = plots.label_points(axes["accuracy"], labels, lines=lines)
    if unplaced:
        plots.write_title(figure, *above, f"{len(unplaced)} lines have no room for a name.")
    return plots.save_figure(figure, path)


def _set_axes(axes: dict[str, Axes], counts: list[int], label: str) -> None:
    heads = {"accuracy": "test accuracy (%)", "convergence": "convergence step", "seconds": "seconds per step",
             "memory": "peak memory (MiB)", "errors": "relative error"}  # fmt: skip
    for key, axis in axes.items():
        axis.set_ylabel(heads[key])
        plots.count_axis(axis, counts)
        if key in [*axes][-2:]:
            axis.set_xlabel(label)
    axes["accuracy"].xaxis.set_tick_params(labelbottom=True)
    axes["accuracy"].margins(y=0.15)
    axes["convergence"].set_ylim(bottom=0)
    axes["seconds"].set_yscale("log")
    axes["seconds"].set_yticks(plots.round_ticks(*axes["seconds"].get_ylim()))
    axes["seconds"].set_yticks([], minor=True)
    axes["seconds"].yaxis.set_major_formatter("{x:g}")


def _draw(axis: Axes, values: list[tuple[Point, Value]], head: str, colour: str, style: str) -> None:
    """Draw one variant's curve with bars of its spread; an attention without the number is a horizontal line."""
    swept = []
    for point, value in values:
        if value is not None and point.number is None:
            axis.axhline(value[0], ls="--", color=colour)
        elif value is not None and point.number:
            swept.append((point.number, point, *value))
    if not swept:
        return
    counts, _, means, spreads = zip(*swept, strict=True)
    bars = [math.nan if std is None else std for std in spreads]  # one seed has no spread: it gets no bar
    some = any(std is not None for std in spreads)
    axis.errorbar(counts, means, yerr=bars if some else None, color=colour, ls=style, capsize=1.5, elinewidth=0.7)
    for count, point, mean, std in swept:
        (dot,) = axis.plot(count, mean, marker="o", color=colour, ls="")
        spread = "" if std is None else f" ± {std:.3g}"
        plots.hover(dot, f"{head} {point.name}: {mean:.4g}{spread}; accuracy {point.cell} %")


def _draw_seeds(axis: Axes, point: Point, heights: Sequence[float], colour: str, marker: str = ".") -> None:
    """Draw one value for each seed: a mark at the point's number, or a thin line for one without."""
    for height in heights:
        if point.number is None:
            axis.axhline(height, lw=0.5, ls=":" if marker == "x" else "-", alpha=0.6, color=colour)
        elif point.number:
            axis.plot(point.number, height, ls="", marker=marker, ms=3, alpha=0.6, color=colour)
