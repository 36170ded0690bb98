"""Draw the figures of a diagnosis into SVG files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lra.diagnosis.schema import Diagnosis
from lra.diagnosis.words import swap_of
from lra.results.plots import QUIET, legend_beside, majority_line, ticks_that_fit

LOOKS: dict[str, dict[str, Any]] = {
    "segment_means": {"color": "tab:blue", "marker": "o", "label": "Nyström, segment means"},
    "strided": {"color": "tab:orange", "marker": "s", "label": "Nyström, strided tokens"},
    "random": {"color": "tab:green", "marker": "^", "label": "Nyström, random tokens"},
    "kmeans": {"color": "tab:red", "marker": "D", "label": "Nyström, k-means"},
    "classical": {"color": "tab:purple", "ls": "--", "marker": "v", "label": "classical, C W⁺ R"},
    "cur": {"color": "tab:brown", "ls": "--", "marker": "x", "label": "CUR, C (C⁺ S R⁺) R"},
    "best": {"color": QUIET, "ls": ":", "label": "best of rank m"},
}
SHOWN_ERRORS = (1e-3, 10.0)  # ends of the axes of errors
LAYER_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")
HEAD_LINES = ("-", "--", ":", "-.")
ErrorKey = Literal["matrix_error", "output_error"]


def plot_errors(diagnosis: Diagnosis, path: Path, *, key: ErrorKey) -> Path:
    """Draw an error of each head against the number of landmarks; zeros, of exact matrices, are not shown."""
    layers = diagnosis["layers"]
    rows, columns = len(layers), len(layers[0])
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(2.9 * columns + 2.6, 2.5 * rows + 0.6),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for number, heads in enumerate(layers):
        for place, head in enumerate(heads):
            axis = axes[number, place]
            for curve in head["curves"]:
                points = [
                    (count, error)
                    for count, error in zip(curve["num_landmarks"], curve[key], strict=False)
                    if error > 0
                ]
                if points:
                    axis.plot(*zip(*points, strict=True), ms=4, lw=1.2, **LOOKS[curve["method"]])
            if key == "matrix_error":
                axis.axhline(head["uniform_error"], color=QUIET, lw=1, label="equal weights")
            if diagnosis["subject"]["is_nystrom"]:
                own = diagnosis["subject"]["num_landmarks"], head[key]
                axis.plot(*own, "*", ms=11, color="tab:pink", label="the model's own")
            axis.set_title(f"layer {number + 1}, head {place + 1}", fontsize=9)
            axis.grid(alpha=0.3)
    counts = layers[0][0]["curves"][0]["num_landmarks"]
    axes[0, 0].set_xscale("log", base=2)
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(SHOWN_ERRORS)
    axes[0, 0].set_xticks(ticks_that_fit(counts))
    axes[0, 0].xaxis.set_major_formatter("{x:.0f}")
    axes[0, 0].set_xticks([], minor=True)
    figure.supxlabel("landmarks m", fontsize=10)
    figure.supylabel({"matrix_error": "‖Ŝ − S‖ / ‖S‖", "output_error": "‖(Ŝ − S) V‖ / ‖S V‖"}[key], fontsize=10)
    legend_beside(figure, axes[0, 0])
    return _saved(figure, path)


def plot_convergence(diagnosis: Diagnosis, path: Path) -> Path:
    """Draw residual and distance of the iterative pseudo-inverse of each head after each step."""
    figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.4), layout="constrained")
    for number, heads in enumerate(diagnosis["layers"]):
        for place, head in enumerate(heads):
            look: dict[str, Any] = {
                "color": LAYER_COLOURS[number % len(LAYER_COLOURS)],
                "ls": HEAD_LINES[place % len(HEAD_LINES)],
            }
            for axis, key in zip(axes, ("residual", "distance"), strict=True):
                errors = head["convergence"][key]  # type: ignore[literal-required]
                axis.plot(head["convergence"]["steps"], errors, label=f"layer {number + 1}, head {place + 1}", **look)
    for axis, name in zip(axes, ("residual ‖AZA − A‖ / ‖A‖", "distance ‖Z − A⁺‖ / ‖A⁺‖"), strict=True):
        axis.set_yscale("log")
        axis.set_xlabel("steps")
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
    legend_beside(figure, axes[0])
    return _saved(figure, path)


def plot_swaps(diagnosis: Diagnosis, path: Path) -> Path:
    """Draw the accuracy with other numbers of landmarks, beside the model as trained, exact and no attention."""
    figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    subject = diagnosis["subject"]
    points = [
        (swap["num_landmarks"] or 0, 100 * swap["accuracy"], 100 * swap["error"])
        for swap in diagnosis["swaps"]
        if swap["name"] == "nystrom"
    ]
    lines = {"trained": ("tab:pink", "as trained"), "exact": ("tab:green", "exact attention"), "none": (QUIET, "none")}
    if subject["is_nystrom"]:
        own = swap_of(diagnosis, "trained")
        points.append((subject["num_landmarks"], 100 * own["accuracy"], 100 * own["error"]))
        axis.plot(*points[-1][:2], "*", ms=13, color="tab:pink", zorder=3)
    for name, (colour, label) in lines.items():
        swap = swap_of(diagnosis, name)
        middle, spread = 100 * swap["accuracy"], 100 * swap["error"]
        axis.axhline(middle, color=colour, lw=1.2, label=f"{label} {middle:.1f}")
        axis.axhspan(middle - spread, middle + spread, color=colour, alpha=0.12, lw=0)
    counts, heights, spreads = zip(*sorted(points), strict=True)
    axis.errorbar(counts, heights, yerr=spreads, marker="o", capsize=3, color="tab:blue", label="Nyström")
    majority_line(axis, subject["majority_rate"])
    _landmark_axis(axis, list(counts))
    axis.set_ylabel("dev accuracy (%)")
    legend_beside(figure, axis)
    return _saved(figure, path)


def _landmark_axis(axis: Axes, counts: list[int]) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(ticks_that_fit(counts))
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.set_xlabel("landmarks, in place of the model's own attention")
    axis.grid(alpha=0.3)


def _saved(figure: Figure, path: Path) -> Path:
    """Write the figure without the date, so that the same numbers give the same file."""
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
