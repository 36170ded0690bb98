"""Draw the figure of a bench: time and memory against the length, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from lra.base.files import replacing
from lra.base.text import for_figure
from lra.bench.record import PASS_TITLES, BenchRecord, lengths_of
from lra.bench.summary import FUSED, MATH, median_of, points_of, quartiles
from lra.bench.tables import MEBIBYTE, ran_passes, title_of_bench
from lra.results.plots import legend_beside, legend_name, ticks_that_fit

LINES_OF_FULL = {FUSED: "--", MATH: ":"}
BOLD = ("nystrom", FUSED, MATH)  # what the paper's table is about
BELOW_EXACT = 10  # times are drawn down to this part of exact attention's least
COLOURS = [matplotlib.colormaps["tab20"](number) for number in range(20)]
MARKERS = ("o", "^", "s", "D")  # by turns, so that neighbours of nearly the same colour differ


def plot_bench(record: BenchRecord, path: Path) -> Path:
    """Draw the time of each pass and the memory of the last one into a PNG or SVG; bands are quartiles.

    Shorter times than a tenth of exact attention's least are not drawn, so that a floor that computes next to nothing
    does not press all others together.
    """
    passes, batch = ran_passes(record), record["settings"]["batch"]
    figure, axes = plt.subplots(
        1, len(passes) + 1, figsize=(4.2 * (len(passes) + 1) + 2, 4.5), layout="constrained", squeeze=False
    )
    *times, memory = axes[0]
    for number, method in enumerate(record["settings"]["methods"]):
        name = method["name"]
        look = {
            "ls": LINES_OF_FULL.get(name, "-"),
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
            "markersize": 4,
            "lw": 3 if name in BOLD else 1,
            "zorder": 3 if name in BOLD else 2,
            "label": legend_name(name),
        }
        for axis, which in zip(times, passes, strict=True):
            points = points_of(record, name, which)
            axis.plot(list(points), [1e3 * median_of(each) / batch for each in points.values()], **look)
            low, high = ([1e3 * quartiles(each)[side] / batch for each in points.values()] for side in (0, 1))
            axis.fill_between(list(points), low, high, alpha=0.2, color=look["color"])
            axis.set_title(PASS_TITLES[which])
            axis.set_ylabel("ms per instance")
        points = {at: each for at, each in points_of(record, name, passes[-1]).items() if each["peak_bytes"]}
        memory.plot(list(points), [each["peak_bytes"] / MEBIBYTE / batch for each in points.values()], **look)
    for axis, which in zip(times, passes, strict=True):
        exact = [median_of(each) for full in (FUSED, MATH) for each in points_of(record, full, which).values()]
        axis.set_ylim(bottom=1e3 * min(exact) / batch / BELOW_EXACT if exact else None)
    memory.set_title(f"peak memory, {PASS_TITLES[passes[-1]]}")
    memory.set_ylabel("MiB per instance")
    for axis in axes[0]:
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(ticks_that_fit(lengths_of(record)))
        axis.set_xticks([], minor=True)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.tick_params(axis="x", labelrotation=45)
        axis.set_xlabel("length")
        axis.grid(alpha=0.3)
    legend_beside(figure, memory)
    figure.suptitle(f"{for_figure(title_of_bench(record))}; band: quartiles of the repeats")
    with replacing(path, shared=True) as unfinished:
        figure.savefig(unfinished, dpi=120, format=path.suffix[1:])
    plt.close(figure)
    return path
