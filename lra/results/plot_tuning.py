"""Draw the expected best dev accuracy of a search against the number of its trials."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from lra.results import plots
from lra.results.tuning import Search, expected_best_intervals

HEIGHT = 2.6  # inches


@plots.for_a_column
def plot_tuning(searches: Sequence[Search], path: Path, *, title: str) -> Path:
    """Draw the expected best of n trials of each method, with its interval, into a file; one trial is a point."""
    figure, axis = plt.subplots(figsize=(plots.COLUMN, HEIGHT), layout="constrained")
    colours = plots.colours_of([search.method for search in searches])
    ends = []
    for search in searches:
        intervals, colour = expected_best_intervals(search.accuracies), colours[search.method]
        numbers = list(range(1, len(intervals) + 1))
        heights = [100 * interval.difference for interval in intervals]
        low, high = (
            [100 * value for value in side] for side in zip(*((i.low, i.high) for i in intervals), strict=True)
        )
        (line,) = axis.plot(numbers, heights, color=colour, marker="." if len(numbers) == 1 else "")
        plots.hover(line, f"{search.method}: {heights[-1]:.2f} % after {numbers[-1]} trials")
        axis.fill_between(numbers, low, high, color=colour, alpha=0.12, lw=0)
        ends.append(plots.Label(numbers[-1], heights[-1], plots.short_name(search.method), colour))
    axis.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
    axis.set_xlabel("number of trials")
    axis.set_ylabel("expected best dev accuracy (%)")
    failed = sum(len(search.failed) for search in searches)
    counted = f"{failed} failed trials have 0 %" if failed else ""
    plots.write_title(figure, title, "expected maximum (Dodge et al. 2019), 95 % bootstrap interval", counted)
    plots.label_ends(figure, {axis: ends})
    return plots.save_figure(figure, path)
