"""Draw the figure of a bench: time and memory against the length, on logarithmic axes."""

from pathlib import Path

import matplotlib.pyplot as plt

from lra.terminal import plots
from lra.tools.bench.record import PASS_TITLES, BenchRecord, lengths_of
from lra.tools.bench.summary import FUSED, MATH, median_of, points_of, quartiles
from lra.tools.bench.tables import MEBIBYTE, ran_passes, title_of_bench

LINES = {FUSED: "--", MATH: ":"}
BELOW_EXACT = 10  # times are drawn down to this part of exact attention's least
PANEL_HEIGHT = 1.5  # inches; more where the names need more


@plots.for_a_column
def plot_bench(record: BenchRecord, path: Path) -> Path:
    """Draw the time of each pass and the memory of the last one into a file, each line with its name; bands: quartiles.

    Shorter times than a tenth of exact attention's least are not drawn, so that a floor that computes next to nothing
    does not press all others together.
    """
    passes, batch = ran_passes(record), record["settings"]["batch"]
    names = [method["name"] for method in record["settings"]["methods"]]
    panels = len(passes) + 1
    figure, axes = plt.subplots(
        panels, 1, figsize=(plots.COLUMN, panels * PANEL_HEIGHT + 0.9), layout="constrained", sharex=True
    )
    *times, memory = axes
    colours = plots.colours_of(names)
    ends: dict[plt.Axes, list[plots.Label]] = {axis: [] for axis in axes}
    for name, colour in colours.items():
        grey = colour == plots.GREY
        look = {
            "ls": LINES.get(name, "-." if " (" in name else "-"),
            "color": colour,
            "lw": 0.6 if grey else 1.3,
            "zorder": 2 if grey else 3,
        }
        for axis, which in zip(axes, (*passes, passes[-1]), strict=True):
            points = points_of(record, name, which)
            if axis is memory:
                heights = {
                    at: each["peak_bytes"] / MEBIBYTE / batch for at, each in points.items() if each["peak_bytes"]
                }
            else:
                heights = {at: 1e3 * median_of(each) / batch for at, each in points.items()}
                low, high = ([1e3 * quartiles(each)[side] / batch for each in points.values()] for side in (0, 1))
                axis.fill_between(list(points), low, high, alpha=0.2, lw=0, color=colour)
            if not heights:
                continue
            (line,) = axis.plot(list(heights), list(heights.values()), **look)
            unit = "MiB" if axis is memory else "ms"
            plots.hover(line, f"{name}: " + ", ".join(f"{at:,} {value:.3g} {unit}" for at, value in heights.items()))
            at, last = list(heights.items())[-1]
            ends[axis].append(plots.Label(at, last, plots.short_name(name), colour))
    for axis, which in zip(times, passes, strict=True):
        exact = [median_of(each) for full in (FUSED, MATH) for each in points_of(record, full, which).values()]
        axis.set_ylim(bottom=1e3 * min(exact) / batch / BELOW_EXACT if exact else None)
        axis.set_title(PASS_TITLES[which], loc="left")
        axis.set_ylabel("ms per instance")
    memory.set_title(f"peak memory, {PASS_TITLES[passes[-1]]}", loc="left")
    memory.set_ylabel("MiB per instance")
    for axis in axes:
        plots.count_axis(axis, lengths_of(record), most=5)
        axis.set_yscale("log")
        axis.margins(x=0.02)
    memory.set_xlabel("length")
    plots.write_title(figure, title_of_bench(record), "band: quartiles of the repeats")
    for axis, labels in ends.items():
        bottom, top = axis.get_ylim()
        ends[axis] = [label for label in labels if bottom <= label.y <= top]
    plots.label_ends(figure, ends)
    return plots.save_figure(figure, path)
