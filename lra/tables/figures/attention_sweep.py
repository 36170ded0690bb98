"""Draw the figure of a sweep over one number of an attention; attentions without this number are lines."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from lra.tables.attention_sweep import EXACT, WHOLE, MeanAndStd, Point, SweptNumber, sweep_ranges
from lra.tables.cells import central_note
from lra.terminal import figure_names, figure_style, plots
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import DASH_DOT_DOT, NO_NAME, WIDTHS, Look, hover

Value = MeanAndStd | None
Panels = Mapping[str, Axes]
HEADS = {
    "accuracy": "test accuracy (%)",
    "convergence": "convergence step",
    "seconds": "seconds per step",
    "memory": "peak memory (MiB)",
    "errors": "relative error",
}
DID_NOT_CONVERGE = 1.1  # height of such a seed, as a multiple of the latest convergence step
ABOVE = 1.08  # end of an axis that begins at 0, as a multiple of the largest value
RIGHT_OF_AXIS = (1.03, 0.035)  # where the seeds of attentions without the number stand: of the first one, and further
ASIDE, MOST_ASIDE = 0.06, 0.3  # of a doubling: how far two variants stand apart, and all of them together
DASHES: tuple[Any, ...] = ("-.", DASH_DOT_DOT, (0, (2, 1)))  # of attentions without the number
ROW, AROUND = 1.3, 0.55  # heights in inches
BETWEEN = 0.06  # of a panel's width: between its seeds at the right of the axis and the next panel's label


def swept_numbers(points: Sequence[Point]) -> list[int]:
    """The numbers that were swept, in their order; with fewer than two there is nothing to draw."""
    return sorted({point.number for point in points if point.number})


@figure_style.for_a_paper
def plot_sweep(
    points: list[Point], swept: SweptNumber, path: Path, *, title: str, majority_rate: float, columns: int = 2
) -> Drawn:
    """Draw accuracy, convergence and time into a file; of a sweep that `approximates`, memory and errors too.

    The line of accuracy is the number of the table: the mean over seeds, or the median where only some converged; small
    hollow marks are the seeds. Attentions without the number, such as exact attention, are horizontal lines, and their
    seeds stand to the right of the axis. Bars of the errors are standard deviations over seeds. A cross is a seed that
    did not converge. An upright line is the range. A panel without two points is left out.
    """
    panels, left_out = _panels_with_points(points, swept)
    figure, axes = _make_panels(panels, columns)
    names = list(dict.fromkeys(point.variant for point in points))
    first = [point.variant for point in points if point.number is None]
    named = figure_names.choose_named(names, first=first)
    looks = {name: NO_NAME._replace(marker="o") for name in names} | figure_style.looks_of(named)
    numbers = swept_numbers(points)
    aside = _aside([name for name in names if name not in first])
    for name in aside:
        of_name = [((point.number or 0) * aside[name], point) for point in points if point.variant == name]
        _draw_variant(axes, of_name, looks[name], figure_names.short_name(name) if name in named else "", swept)
    for place, point in enumerate(point for point in points if point.number is None):
        shown = figure_names.short_name(point.variant.replace(EXACT, "exact attention", 1))
        _draw_without_number(axes, point, looks[point.variant], shown, place)
    crosses = _draw_convergence(axes, points, looks, aside) if "convergence" in axes else ""
    accuracies = [each for point in points for each in (point.cell.central_value, *point.cell.accuracies)]
    below = plots.majority_line_if_near(axes["accuracy"], majority_rate, accuracies)
    ranges = _draw_ranges(axes["accuracy"], points, swept, looks)
    _set_axes(axes, numbers, swept.head, columns)
    figure_names.legend_below(figure, axes.values())
    grey = figure_names.grey_sentence([name for name in names if name not in named])
    sentences = [*_sentences(points, axes), crosses, below, *ranges, grey]
    caption = figure_names.caption_of(title, *sentences)
    return figure_style.save_figure(figure, path, caption=caption, left_out=left_out)


def _panels_with_points(points: Sequence[Point], swept: SweptNumber) -> tuple[list[str], list[str]]:
    """Name the panels that have two numbers or more, and say of each other one why it is left out."""
    wanted = [*HEADS] if swept.approximates else ["accuracy", "convergence", "seconds"]
    panels, left_out = [], []
    for name in wanted:
        why = _why_empty(name, points, swept)
        if why:
            left_out.append(f"no panel of the {HEADS[name]}: {why}")
        else:
            panels.append(name)
    return panels, left_out


def _why_empty(panel: str, points: Sequence[Point], swept: SweptNumber) -> str:
    """Say why a panel would show nothing; empty if it shows something."""
    known = [point for point in points if point.number]
    if panel == "convergence":
        known = [point for point in known if any(step is not None for step in point.convergence_steps.values())]
        steps = {step for point in points for step in point.convergence_steps.values()}
        if len(known) > 1 and len(steps) == 1:
            return f"it is {steps.pop():,} for each seed"
    elif panel == "errors":
        known = [point for point in known if point.attention_error is not None]
    is_enough = panel == "accuracy" or len({point.number for point in known}) > 1
    return "" if is_enough else f"it is known for fewer than two numbers of {swept.head}"


def _make_panels(panels: list[str], columns: int) -> tuple[Any, dict[str, Axes]]:
    """Lay out the panels: accuracy on the left of the others, two in a row, or above them in a single column."""
    first, *others = panels
    pairs = [others[place : place + 2] for place in range(0, len(others), 2)]
    if len(pairs) > 1 and len(pairs[-1]) == 1:
        pairs[-1].append(".")  # nothing
    layout: Any = [[first]]
    heights, widths = [1.35], [1.0]
    if pairs and columns == 2:
        layout = [[first, *pair] for pair in pairs]
        heights = [1.35] if len(pairs) == 1 else [1.0] * len(pairs)
        widths = [1.5, *[1.0] * len(pairs[0])]
    elif pairs:
        layout = [[first] * len(pairs[0]), *pairs]
        heights = [1.25, *[1.0] * len(pairs)]
        widths = [1.0] * len(pairs[0])
    figure, axes = plt.subplot_mosaic(
        layout,
        figsize=(WIDTHS[columns], ROW * sum(heights) + AROUND),
        layout="constrained",
        sharex=True,
        height_ratios=heights,
        width_ratios=widths,
    )
    figure.get_layout_engine().set(wspace=BETWEEN)
    return figure, axes


def _aside(variants: Sequence[str]) -> dict[str, float]:
    """By which factor the points of each variant stand beside their numbers, so that they do not cover each other."""
    apart = min(ASIDE, MOST_ASIDE / max(len(variants) - 1, 1))
    middle = (len(variants) - 1) / 2
    return {name: 2 ** (apart * (place - middle)) for place, name in enumerate(variants)}


def _draw_variant(axes: Panels, of_name: list[tuple[float, Point]], look: Look, label: str, swept: SweptNumber) -> None:
    """Draw the lines of one variant, and the accuracies of its seeds."""
    curves: list[tuple[str, Callable[[Point], Value]]] = [
        ("accuracy", lambda point: (point.cell.central_value, None)),
        ("seconds", lambda point: (1 / point.cell.steps_per_second, None)),
        ("memory", lambda point: (point.cell.peak_memory_bytes / 2**20, None)),
        ("errors", lambda point: point.attention_error),
    ]
    known = [(x, point) for x, point in of_name if point.number]
    for key, value in curves:
        if key in axes:
            _draw_line(axes[key], known, value, look, label, swept.head)
    if "errors" in axes:
        hollow = look._replace(line=":")
        _draw_line(axes["errors"], known, lambda point: point.pinv_residual, hollow, "", swept.head)
    for x, point in known:
        if point.cell.count > 1:
            axes["accuracy"].plot([x] * point.cell.count, point.cell.accuracies, **look.of_seeds)


def _draw_line(
    axis: Axes, points: list[tuple[float, Point]], value: Callable[[Point], Value], look: Look, label: str, head: str
) -> None:
    found = [(x, point, *known) for x, point in points if (known := value(point)) is not None]
    if not found:
        return
    xs, _, means, spreads = zip(*found, strict=True)
    axis.plot(xs, means, **look.of_line, label=label)
    if any(spread is not None for spread in spreads):
        bars = [math.nan if spread is None else spread for spread in spreads]  # one seed has no spread: it gets no bar
        axis.errorbar(xs, means, yerr=bars, color=look.colour, ls="", capsize=1.5, elinewidth=0.7)
    for x, point, mean, spread in found:
        (dot,) = axis.plot(x, mean, **look.of_dots)
        shown = "" if spread is None else f" ± {spread:.3g}"
        hover(dot, f"{head} {point.name}: {mean:.4g}{shown}; accuracy {point.cell} %")


def _draw_without_number(axes: Panels, point: Point, look: Look, label: str, place: int) -> None:
    """Draw an attention without the number: a line across each panel, its seeds at the right of it."""
    values = {
        "accuracy": point.cell.central_value,
        "seconds": 1 / point.cell.steps_per_second,
        "memory": point.cell.peak_memory_bytes / 2**20,
    }
    line = look.line if point.method == EXACT else DASHES[place % len(DASHES)]
    for key, height in values.items():
        if key in axes:
            axes[key].axhline(height, ls=line, color=look.colour, label=label if key == "accuracy" else "", zorder=1.9)
    if point.cell.count > 1:
        _draw_at_right(axes["accuracy"], point.cell.accuracies, look.of_seeds, place)


def _draw_at_right(axis: Axes, heights: Sequence[float], how: Mapping[str, Any], place: int) -> None:
    first, further = RIGHT_OF_AXIS
    xs = [first + further * place] * len(heights)
    axis.plot(xs, heights, transform=axis.get_yaxis_transform(), clip_on=False, scalex=False, **how)


def _draw_convergence(
    axes: Panels, points: Sequence[Point], looks: Mapping[str, Look], aside: Mapping[str, float]
) -> str:
    """Draw the step at which each seed converged; return what crosses mean, if a seed did not converge."""
    latest = max(step or 0 for point in points for step in point.convergence_steps.values())
    failed = False
    place_at_right = 0
    for point in points:
        seeds = looks[point.variant].of_seeds
        steps = [step for step in point.convergence_steps.values() if step is not None]
        none = [DID_NOT_CONVERGE * latest] * (len(point.convergence_steps) - len(steps))
        crosses = seeds | {"marker": "x", "ms": 3.5, "mew": 0.9}
        failed = failed or bool(none)
        for heights, how in ((steps, seeds), (none, crosses)):
            if not heights:
                continue
            if point.number is None:
                _draw_at_right(axes["convergence"], heights, how, place_at_right)
            elif point.number:
                xs = [point.number * aside[point.variant]] * len(heights)
                axes["convergence"].plot(xs, heights, **how)
        place_at_right += point.number is None
    return "Crosses: seeds that did not converge." if failed else ""


def _draw_ranges(axis: Axes, points: list[Point], swept: SweptNumber, looks: Mapping[str, Look]) -> list[str]:
    """Draw the range of each variant as an upright line, and word it."""
    sentences = []
    for name, found in sweep_ranges(points, swept).items():
        has_line = found.width is not None and found.width != WHOLE
        sentences.append(f"Range: {found}{' (upright line)' if has_line else ''}.")
        if found.width is not None and has_line:
            axis.axvline(found.width, ls=(0, (4, 2)), lw=0.8, color=looks[name].colour, zorder=1)
    return sentences


def _set_axes(axes: Panels, numbers: Sequence[int], head: str, columns: int) -> None:
    for key, axis in axes.items():
        place = axis.get_subplotspec()
        is_lowest = place is not None and place.is_last_row()
        axis.set_ylabel(HEADS[key])
        plots.count_axis(axis, numbers, most=6 if key == "accuracy" or columns == 2 else 5)
        axis.set_xlabel(head if is_lowest else "")
        axis.xaxis.set_tick_params(labelbottom=is_lowest)
        if key != "accuracy":
            axis.set_ylim(0, ABOVE * axis.dataLim.y1)
            axis.yaxis.set_major_locator(plots.round_numbers(4))
    axes["accuracy"].margins(y=0.1)
    axes["accuracy"].yaxis.set_major_locator(plots.round_numbers(6))
    axes["accuracy"].xaxis.set_tick_params(labelbottom=True)


def _sentences(points: Sequence[Point], axes: Panels) -> list[str]:
    """Word what the marks mean."""
    central = central_note(point.cell for point in points)
    has_lines = any(point.number is None for point in points)
    at_right = " (of the horizontal lines at the right of the axis)" if has_lines else ""
    sentences = [f"Lines: {central}; hollow marks: seeds{at_right}."]
    if "errors" in axes:
        sentences.append("Relative error ± SD: solid, ‖Ŝ − S‖ / ‖S‖ of attention; dotted, ‖AZA − A‖ / ‖A‖.")
    return sentences
