"""The learning curve in a run's folder."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from lra.base.files import replacing
from lra.base.text import for_figure
from lra.terminal import plots

STYLES: dict[str, dict[str, Any]] = {"train": {"alpha": 0.5, "color": "tab:gray"}, "dev": {"marker": "o", "ms": 3}}
OF_THE_MACHINE = {  # the small panels: for each column of metrics.csv its label, and what it is divided by
    "learning_rate": ("learning rate", 1),
    "steps_per_second": ("steps per second", 1),
    "peak_memory_bytes": ("peak memory (MiB)", 2**20),
}


def learning_curve(
    curves: list[dict[str, float]], path: Path, *, title: str, majority_rate: float, paper_accuracy: float | None
) -> Path:
    """Draw loss and accuracy against the step into a PNG; below them learning rate, speed and memory.

    The curves are the rows of `metrics.csv`; the majority rate is that of the test split, in [0, 1], the paper's
    accuracy in percent (None: no line is drawn).
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
    plots.majority_line(accuracy, majority_rate, of=plots.OF_TEST)
    if paper_accuracy is not None:
        accuracy.axhline(paper_accuracy, ls="--", color="tab:green", label=f"paper, full run {paper_accuracy:.2f}")
    for axis in (loss, accuracy):
        axis.grid(alpha=0.3)
    plots.legend_below(figure, (loss, accuracy), columns=4)
    for index, (metric, (label, scale)) in enumerate(OF_THE_MACHINE.items()):
        axis = figure.add_subplot(grid[1, 2 * index : 2 * index + 2])
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
