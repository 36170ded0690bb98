"""Draw the figure of a bench: time and memory against the length, on logarithmic axes."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from lra.terminal import figure_names, figure_style, plots
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import NO_NAME, WIDTHS, Look, hover
from lra.tools.bench.record import PASS_TITLES, BenchRecord, PassName, lengths_of
from lra.tools.bench.summary import FUSED, MATH, median_of, points_of, quartiles
from lra.tools.bench.tables import MEBIBYTE, ran_passes, title_of_bench

BELOW_EXACT = 10  # times are drawn down to this part of exact attention's least
PANEL_HEIGHT, LEGEND_HEIGHT = 1.75, 0.6  # inches


@figure_style.for_a_paper
def plot_bench(record: BenchRecord, path: Path, *, columns: int = 2) -> Drawn:
    """Draw the time of each pass and the memory of the last one into a file; bands: quartiles.

    Shorter times than a tenth of exact attention's least are not drawn, so that a floor that computes next to nothing
    does not press all others together. Of more than eight methods, exact attention, the paper's methods and the fastest
    of the others have a name, but none whose times are not all drawn.
    """
    passes = ran_passes(record)
    names = [method["name"] for method in record["settings"]["methods"]]
    least = {which: _least_drawn(record, which) for which in passes}
    named = _named(record, names, least)
    looks = figure_style.looks_of(named)
    panels = len(passes) + 1
    shape, size = ((1, panels), (WIDTHS[2], PANEL_HEIGHT)) if columns == 2 else ((panels, 1), (WIDTHS[1], 1.3 * panels))
    figure, axes = plt.subplots(
        *shape,
        figsize=(size[0], size[1] + LEGEND_HEIGHT * (1 if columns == 2 else 1.4)),
        layout="constrained",
        sharex=True,
    )
    *times, memory = axes
    for name in names:
        look = looks.get(name, NO_NAME)
        for axis, which in zip(times, passes, strict=True):
            _draw_times(axis, record, name, which, look)
        _draw_memory(memory, record, name, passes[-1], look)
    for axis in axes:
        plots.count_axis(axis, lengths_of(record), most=5)
        axis.set_yscale("log")
        axis.margins(x=0.03, y=0.04)
        if columns == 2 or axis is memory:
            axis.set_xlabel("sequence length")
    for axis, which in zip(times, passes, strict=True):
        axis.set_title(PASS_TITLES[which])
        axis.set_ylim(bottom=least[which])
        axis.set_ylabel("ms per sequence")
    memory.set_title("peak memory")
    memory.set_ylabel("MiB per sequence")
    figure_names.legend_below(figure, [memory])
    grey = figure_names.grey_sentence([name for name in names if name not in named])
    sentences = [
        f"Time, and peak memory of {PASS_TITLES[passes[-1]]}, of a sequence against its length;"
        " bands: quartiles of the repeats.",
        grey,
    ]
    if any(least.values()):
        sentences.append(f"Times below 1/{BELOW_EXACT} of the least of exact attention are not drawn.")
    caption = figure_names.caption_of(f"Attention alone, {title_of_bench(record)}", *sentences)
    return figure_style.save_figure(figure, path, caption=caption)


def _least_drawn(record: BenchRecord, which: PassName) -> float | None:
    """The least time of a pass that is drawn, in ms for a sequence; None without exact attention."""
    exact = [median_of(each) for full in (FUSED, MATH) for each in points_of(record, full, which).values()]
    return 1e3 * min(exact) / record["settings"]["batch"] / BELOW_EXACT if exact else None


def _named(record: BenchRecord, names: list[str], least: dict[PassName, float | None]) -> list[str]:
    """Choose the names: exact attention, the paper's methods, the fastest at the longest length that is drawn whole."""
    last, batch = [*least][-1], record["settings"]["batch"]
    seconds: dict[str, float] = {}
    for name in names:
        points = points_of(record, name, last)
        is_drawn = all(1e3 * median_of(each) / batch >= (least[last] or 0) for each in points.values())
        if points and max(points) == max(lengths_of(record)) and is_drawn:
            seconds[name] = median_of(points[max(points)])
    papers = [name for name in names if name in figure_style.OF_METHOD]
    return figure_names.choose_named(names, first=[FUSED, MATH, *papers], best=sorted(seconds, key=seconds.__getitem__))


def _draw_times(axis: Axes, record: BenchRecord, name: str, which: PassName, look: Look) -> None:
    points, scale = points_of(record, name, which), 1e3 / record["settings"]["batch"]
    if not points:
        return
    low, high = ([scale * quartiles(each)[side] for each in points.values()] for side in (0, 1))
    if look != NO_NAME:
        axis.fill_between(list(points), low, high, alpha=0.2, lw=0, color=look.colour)
    _draw_line(axis, name, {at: scale * median_of(each) for at, each in points.items()}, look, "ms")


def _draw_memory(axis: Axes, record: BenchRecord, name: str, which: PassName, look: Look) -> None:
    batch = record["settings"]["batch"]
    measured = {at: each["peak_bytes"] / MEBIBYTE / batch for at, each in points_of(record, name, which).items()}
    _draw_line(axis, name, {at: height for at, height in measured.items() if height}, look, "MiB")


def _draw_line(axis: Axes, name: str, heights: dict[int, float], look: Look, unit: str) -> None:
    """Draw a line without a name in grey, and behind the others."""
    has_name = look != NO_NAME
    (line,) = axis.plot(
        list(heights),
        list(heights.values()),
        **look.of_line,
        lw=1.1 if has_name else 0.6,
        ms=3.4,
        zorder=3 if has_name else 2,
        label=figure_names.short_name(name).replace("\n", " ") if has_name else "",
    )
    hover(line, f"{name}: " + ", ".join(f"{at:,} {value:.3g} {unit}" for at, value in heights.items()))
