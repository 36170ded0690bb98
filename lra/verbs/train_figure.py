"""The learning curve in a run's folder."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from lra.terminal import figure_names, figure_style, plots
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import PALETTE, QUIET, WIDTHS

STYLES: dict[str, dict[str, Any]] = {
    "train": {"alpha": 0.7, "color": QUIET, "lw": 0.8},
    "dev": {"color": PALETTE[0], "marker": "o"},
}
OF_THE_MACHINE = {  # the small panels: for each column of metrics.csv its label, and what it is divided by
    "learning_rate": ("learning rate", 1),
    "steps_per_second": ("steps per second", 1),
    "peak_memory_bytes": ("peak memory (MiB)", 2**20),
}


@figure_style.for_a_paper
def learning_curve(
    curves: list[dict[str, float]], path: Path, *, title: str, majority_rate: float, paper_accuracy: float | None
) -> Drawn:
    """Draw loss and accuracy against the step into a PNG; below them learning rate, speed and memory.

    The curves are the rows of `metrics.csv`; the majority rate is that of the test split, in [0, 1], the paper's
    accuracy in percent (None: no line is drawn). Of the machine's panels those are left out that have fewer than two
    points.
    """
    of_machine = {key: _points(curves, key) for key in OF_THE_MACHINE}
    shown = {key: points for key, points in of_machine.items() if len(points) > 1}
    layout: Any = [["loss"] * 3 + ["accuracy"] * 3]
    if shown:
        layout.append([key for key in shown for _ in range(6 // len(shown))])
    figure, axes = plt.subplot_mosaic(
        layout,
        figsize=(WIDTHS[2], 2.3 + 1.25 * bool(shown)),
        layout="constrained",
        height_ratios=(2, 1)[: len(layout)],
    )
    for metric in ("loss", "accuracy"):
        _draw_splits(axes[metric], curves, metric)
    axes["loss"].set_ylabel("cross-entropy")
    axes["accuracy"].set_ylabel("accuracy (%)")
    plots.majority_line(axes["accuracy"], majority_rate)
    reference = ""
    if paper_accuracy is not None:
        axes["accuracy"].axhline(paper_accuracy, ls="--", color=PALETTE[2], label="paper, full run")
        reference = f"Dashed: the paper's full run, {paper_accuracy:.2f} %."
    figure_names.legend_below(figure, (axes["loss"], axes["accuracy"]))
    for metric, points in shown.items():
        label, scale = OF_THE_MACHINE[metric]
        axes[metric].plot([step for step, _ in points], [value / scale for _, value in points], color=QUIET, lw=1)
        axes[metric].set_ylim(bottom=0)
        axes[metric].set_ylabel(label)
        axes[metric].xaxis.set_major_locator(plt.MaxNLocator(3))
        axes[metric].yaxis.set_major_locator(plt.MaxNLocator(3))
    left_out = [
        f"no panel of the {OF_THE_MACHINE[key][0]}: it has {len(points)} points, not two"
        for key, points in of_machine.items()
        if key not in shown
    ]
    caption = figure_names.caption_of(
        title,
        "Loss and accuracy against the training step.",
        f"Dotted: the majority class of the test split, {100 * majority_rate:.1f} %.",
        reference,
    )
    return figure_style.save_figure(figure, path, caption=caption, left_out=left_out, alone=True)


def _points(curves: list[dict[str, float]], column: str) -> list[tuple[float, float]]:
    return [(row["step"], row[column]) for row in curves if column in row]


def _draw_splits(axis: Axes, curves: list[dict[str, float]], metric: str) -> None:
    scale = 100 if metric == "accuracy" else 1
    for split, style in STYLES.items():
        points = _points(curves, f"{split}/{metric}")
        if points:
            steps, values = zip(*points, strict=True)
            (line,) = axis.plot(steps, [scale * value for value in values], label=split, **style)
            if len(steps) == 1:
                line.set_marker("o")
    axis.set_xlabel("step")
