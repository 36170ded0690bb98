"""Parts that several figures share: size and colours of a paper's column, hover texts, files; and contact sheets."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lra.base.files import replacing
from lra.base.text import for_figure, visible
from lra.results.display_names import TASK, display_name

COLUMN = 3.4  # width of a paper's column, in inches
LETTERS_OF_COLUMN = 74  # of 6 points
FORMATS = (".png", ".pdf", ".svg")
INK, QUIET, GREY = "#1f2328", "#59636e", "#646b72"  # text; lines of axes; what is not highlighted
OF_PAPER = {  # readable as text on white, and told apart by colour-blind readers
    "nystrom": "#c23b00", "full": INK, "linformer": "#0072b2", "performer": "#007a63", "reformer": "#9a3f86",
}  # fmt: skip
PALETTE = ("#0072b2", "#c23b00", "#007a63", "#9a3f86", "#7a5c00", INK)
STYLE: Any = {
    "font.size": 7, "axes.titlesize": 7, "axes.labelsize": 7.5, "figure.titlesize": 7, "figure.labelsize": 7.5,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7, "lines.linewidth": 1.1, "lines.markersize": 3.5,
    "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False, "axes.labelpad": 2,
    "axes.grid": True, "axes.grid.which": "major", "grid.linewidth": 0.4, "grid.alpha": 0.3, "xtick.major.size": 2.5,
    "ytick.major.size": 2.5, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.pad": 2,
    "ytick.major.pad": 2, "ytick.minor.size": 0, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": QUIET,
    "xtick.color": QUIET, "ytick.color": QUIET, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "pdf.fonttype": 42, "svg.hashsalt": "lra", "savefig.dpi": 200,
}  # fmt: skip
for_a_column = matplotlib.rc_context(STYLE)  # decorates a function that draws
OWNERS = re.compile(r"[\w.]+\.(?=\w+=)")  # in front of the last part of a key
HOVER = "hover:"  # begins the id of what has a text for a pointer
LEGEND_LETTERS = 32  # width of a name in a legend
STYLES: dict[str, dict[str, Any]] = {"train": {"alpha": 0.5, "color": "tab:gray"}, "dev": {"marker": "o", "ms": 3}}
OF_THE_MACHINE = {  # the small panels: for each column of metrics.csv its label, and what it is divided by
    "learning_rate": ("learning rate", 1),
    "steps_per_second": ("steps per second", 1),
    "peak_memory_bytes": ("peak memory (MiB)", 2**20),
}
OF_TEST = " of the test split"
MOST_TICKS = 9  # numbers below an axis of four inches


def legend_below(
    figure: Figure, axes: Iterable[Axes], *, columns: int, order: Callable[[str], Any] | None = None
) -> None:
    """Put one legend of some axes below all, where it covers nothing: each name once, in the order of a sort key."""
    named = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    labels = list(named) if order is None else sorted(named, key=order)
    lines = [named[label] for label in labels]
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False, handlelength=1.4)


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """Choose a colour for each row: a few all differ; of many the paper's five methods do, and the others are grey."""
    methods = [name.split(" ")[0] for name in names]
    if len(names) > len(PALETTE):
        return {name: OF_PAPER.get(method, GREY) for name, method in zip(names, methods, strict=True)}
    fixed = {
        name: OF_PAPER[method]
        for name, method in zip(names, methods, strict=True)
        if method in OF_PAPER and methods.count(method) == 1
    }
    free = iter([colour for colour in PALETTE if colour not in fixed.values()])
    return {name: fixed.get(name) or next(free) for name in names}


def short_name(name: str, *, letters: int = LEGEND_LETTERS) -> str:
    """Write a row's name for a label in a figure: the display name, below it what sets the row apart.

    Settings are named by the last part of their keys, as `lr=0.001`; lines have so many letters.
    """
    display, _, settings = display_name(name).partition(" (")
    last_parts = OWNERS.sub("", settings.removesuffix(")"))
    lines = [part for text in (display, last_parts) for part in textwrap.wrap(visible(text), letters)]
    return "\n".join(map(for_figure, lines))


def write_title(figure: Figure, *lines: str) -> None:
    """Write what a figure shows above it, small, in lines of its width; a task has its display name."""
    width = int(LETTERS_OF_COLUMN * figure.get_figwidth() / COLUMN)
    shown = [
        part
        for line in lines
        if line
        for part in textwrap.wrap(visible(display_name(line, of=TASK)), width, break_on_hyphens=False)
    ]
    figure.suptitle("\n".join(map(for_figure, shown)), x=0.01, ha="left", fontsize=6)


def hover(artist: Artist, text: str) -> None:
    """Give a part of a figure a text that an SVG shows under the pointer."""
    artist.set_gid(HOVER + visible(text))


def svg_of(figure: Figure) -> str:
    """Write a figure as SVG, with the texts of `hover` as titles and no other ids of groups."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    titled = re.sub(rf"""<g id=(["']){HOVER}(.*?)\1>""", r"<g><title>\2</title>", text.getvalue())
    return re.sub(r"""<g id=(["']).*?\1""", "<g", titled)


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure atomically in the format of its path's ending, and close it; the same numbers give the same file.

    A PNG, for screens, has a PDF and an SVG for papers beside it.
    """
    for suffix in FORMATS if path.suffix == ".png" else (path.suffix,):
        with replacing(path.with_suffix(suffix), shared=True) as unfinished:
            if suffix == ".svg":
                unfinished.write_text(svg_of(figure), "utf-8")
            else:
                undated = {"CreationDate": None} if suffix == ".pdf" else {}
                figure.savefig(unfinished, format=suffix[1:], metadata=undated)
    plt.close(figure)
    return path


def ticks_that_fit(values: Iterable[float], *, most: int = MOST_TICKS) -> list[float]:
    """Choose those of some positive values whose numbers do not collide on a logarithmic axis, the least first."""
    ordered = sorted(set(values))
    if not ordered:
        return []
    least_ratio = (ordered[-1] / ordered[0]) ** (1 / most)
    chosen = ordered[:1]
    for value in ordered[1:]:
        if value >= chosen[-1] * least_ratio:
            chosen.append(value)
    return chosen


def round_ticks(low: float, high: float) -> list[float]:
    """Choose a few round numbers from `low` to `high`, for a logarithmic axis; both are above 0."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    rounds = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    inside = [value for value in rounds if low <= value <= high]
    return inside if len(inside) > 2 else [value for value in plt.MaxNLocator(5).tick_values(low, high) if value > 0]


def majority_line(axis: Axes, majority_rate: float, *, of: str = "") -> None:
    """Draw what the most frequent class alone gives, a fraction in [0, 1], as a line across an axis in percent.

    Args:
        axis: where.
        majority_rate: the fraction.
        of: words for the split, where the axis is of another one.
    """
    axis.axhline(100 * majority_rate, ls=":", lw=1, color=QUIET, label=f"majority class{of} {100 * majority_rate:.1f}")


def learning_curve(
    curves: list[dict[str, float]],
    path: Path,
    *,
    title: str,
    majority_rate: float,
    paper_accuracy: float | None,
) -> Path:
    """Draw loss and accuracy against the step into a PNG; below them learning rate, speed and memory.

    Args:
        curves: rows of `metrics.csv`; accuracies are fractions in [0, 1].
        path: the PNG file.
        title: title of the figure.
        majority_rate: accuracy of the majority class of the test split, a fraction in [0, 1].
        paper_accuracy: the paper's accuracy in percent; None: no line is drawn.
    """
    figure = plt.figure(figsize=(10, 6), layout="constrained")
    grid = figure.add_gridspec(2, 6, height_ratios=(2.4, 1))
    loss, accuracy = figure.add_subplot(grid[0, :3]), figure.add_subplot(grid[0, 3:])
    for axis, metric in ((loss, "loss"), (accuracy, "accuracy")):
        scale = 100 if metric == "accuracy" else 1
        for split, style in STYLES.items():
            points = [(row["step"], scale * row[f"{split}/{metric}"]) for row in curves if f"{split}/{metric}" in row]
            if points:
                axis.plot(*zip(*points, strict=True), label=split, **style)
        axis.set_xlabel("step")
    loss.set_ylabel("cross-entropy")
    accuracy.set_ylabel("accuracy (%)")
    majority_line(accuracy, majority_rate, of=OF_TEST)
    if paper_accuracy is not None:
        accuracy.axhline(paper_accuracy, ls="--", color="tab:green", label=f"paper, full run {paper_accuracy:.2f}")
    for axis in (loss, accuracy):
        axis.grid(alpha=0.3)
    legend_below(figure, (loss, accuracy), columns=4)
    for place, (metric, (label, scale)) in enumerate(OF_THE_MACHINE.items()):
        axis = figure.add_subplot(grid[1, 2 * place : 2 * place + 2])
        points = [(row["step"], row[metric] / scale) for row in curves if metric in row]
        axis.plot([step for step, _ in points], [value for _, value in points], color="tab:gray", lw=1)
        axis.set_ylim(bottom=0)
        axis.set_ylabel(label, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
    figure.suptitle(for_figure(title))
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=120, format="png")
    plt.close(figure)
    return path


def contact_sheet(images: list[np.ndarray], labels: list[int], path: Path, columns: int = 8) -> Path:
    """Draw grey images `[side, side]` uint8 side by side into a PNG, each with its label above."""
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(columns, 1.15 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, image, label in zip(axes.flat, images, labels, strict=False):
        axis.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axis.set_title(str(label), fontsize=7, pad=1)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path
