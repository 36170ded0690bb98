"""Draw the figures of a diagnosis, attention matrices of one sequence as images, and write all as one HTML page."""

from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from lra.terminal import plots
from lra.terminal.html_page import Part, Section, svg, write_page
from lra.tools.diagnosis.measure import IMAGE_COLUMNS, MatrixPair
from lra.tools.diagnosis.schema import Diagnosis
from lra.tools.diagnosis.sentences import answer, heads_table, swap_of, swaps_table

LOOKS: dict[str, dict[str, Any]] = {
    "segment_means": {"color": plots.PALETTE[0], "marker": "o", "label": "Nyström, segment means"},
    "strided": {"color": plots.PALETTE[1], "marker": "s", "label": "Nyström, strided tokens"},
    "random": {"color": plots.PALETTE[2], "marker": "^", "label": "Nyström, random tokens"},
    "kmeans": {"color": plots.PALETTE[3], "marker": "D", "label": "Nyström, k-means"},
    "classical": {"color": plots.PALETTE[4], "ls": "--", "marker": "v", "label": "classical, C W⁺ R"},
    "cur": {"color": plots.PALETTE[5], "ls": "--", "marker": "x", "label": "CUR, C (C⁺ S R⁺) R"},
    "best": {"color": plots.QUIET, "ls": ":", "label": "best of rank m"},
}
SHOWN_ERRORS = (1e-3, 10.0)  # ends of the axes of errors
HEAD_LINES = ("-", "--", ":", "-.")
ErrorKey = Literal["matrix_error", "output_error"]
MOST_HEADS = 8  # heads that are shown: the model's first ones
BRIGHTEST = 0.995  # quantile of the exact weights that has the end of the colour scale


@plots.for_a_column
def plot_errors(diagnosis: Diagnosis, path: Path, *, key: ErrorKey) -> Path:
    """Draw an error of each head against the number of landmarks; zeros, of exact matrices, are not shown."""
    layers = diagnosis["layers"]
    rows, columns = len(layers), len(layers[0])
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(plots.COLUMN * max(columns, 2) / 2, 1.4 * rows + 1.1),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for number, heads in enumerate(layers):
        for column, head in enumerate(heads):
            axis = axes[number, column]
            for curve in head["curves"]:
                points = [
                    (count, error)
                    for count, error in zip(curve["num_landmarks"], curve[key], strict=False)
                    if error > 0
                ]
                if points:
                    axis.plot(*zip(*points, strict=True), ms=2.5, lw=0.9, **LOOKS[curve["method"]])
            if key == "matrix_error":
                axis.axhline(head["uniform_error"], color=plots.QUIET, lw=1, label="uniform attention")
            if diagnosis["subject"]["is_nystrom"]:
                own = diagnosis["subject"]["num_landmarks"], head[key]
                axis.plot(*own, "*", ms=7, color=plots.PALETTE[1], label="the model's own")
            axis.set_title(f"layer {number + 1}, head {column + 1}")
    plots.count_axis(axes[0, 0], layers[0][0]["curves"][0]["num_landmarks"])
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(SHOWN_ERRORS)
    for axis in axes[-1]:
        axis.set_xlabel("landmarks m")
    figure.supylabel({"matrix_error": "‖Ŝ − S‖ / ‖S‖", "output_error": "‖(Ŝ − S) V‖ / ‖S V‖"}[key])
    plots.legend_below(figure, [axes[0, 0]], columns=2)
    return plots.save_figure(figure, path)


@plots.for_a_column
def plot_convergence(diagnosis: Diagnosis, path: Path) -> Path:
    """Draw residual and distance of the iterative pseudo-inverse of each head after each step."""
    figure, axes = plt.subplots(1, 2, figsize=(plots.COLUMN, 2.2), layout="constrained")
    for number, heads in enumerate(diagnosis["layers"]):
        for index, head in enumerate(heads):
            name = f"layer {number + 1}, head {index + 1}"
            colour, dashes = plots.PALETTE[number % len(plots.PALETTE)], HEAD_LINES[index % len(HEAD_LINES)]
            for axis, key in zip(axes, ("residual", "distance"), strict=True):
                errors = head["convergence"][key]  # type: ignore[literal-required]
                axis.plot(head["convergence"]["steps"], errors, label=name, color=colour, ls=dashes)
    for axis, name in zip(axes, ("residual ‖AZA − A‖ / ‖A‖", "distance ‖Z − A⁺‖ / ‖A⁺‖"), strict=True):
        axis.set_yscale("log")
        axis.set_xlabel("steps")
        axis.set_ylabel(name)
    plots.legend_below(figure, [axes[0]], columns=2)
    return plots.save_figure(figure, path)


@plots.for_a_column
def plot_swaps(diagnosis: Diagnosis, path: Path) -> Path:
    """Draw the accuracy with other numbers of landmarks, beside the model as trained, exact and no attention."""
    figure, axis = plt.subplots(figsize=(plots.COLUMN, 2.4), layout="constrained")
    subject = diagnosis["subject"]
    points = [
        (swap["num_landmarks"] or 0, 100 * swap["accuracy"], 100 * swap["error"])
        for swap in diagnosis["swaps"]
        if swap["name"] == "nystrom"
    ]
    lines = {
        "trained": (plots.PALETTE[1], "as trained"),
        "exact": (plots.PALETTE[2], "exact attention"),
        "none": (plots.QUIET, "none"),
    }
    if subject["is_nystrom"]:
        own = swap_of(diagnosis, "trained")
        points.append((subject["num_landmarks"], 100 * own["accuracy"], 100 * own["error"]))
        axis.plot(*points[-1][:2], "*", ms=8, color=plots.PALETTE[1], zorder=3)
    for name, (colour, label) in lines.items():
        swap = swap_of(diagnosis, name)
        middle, spread = 100 * swap["accuracy"], 100 * swap["error"]
        axis.axhline(middle, color=colour, label=f"{label} {middle:.1f}")
        axis.axhspan(middle - spread, middle + spread, color=colour, alpha=0.12, lw=0)
    counts, heights, spreads = zip(*sorted(points), strict=True)
    axis.errorbar(
        counts, heights, yerr=spreads, marker="o", capsize=1.5, elinewidth=0.7, color=plots.PALETTE[0], label="Nyström"
    )
    plots.majority_line(axis, subject["majority_rate"])
    plots.count_axis(axis, counts)
    axis.set_xlabel("landmarks, in place of the model's own attention")
    axis.set_ylabel("dev accuracy (%)")
    plots.legend_below(figure, [axis], columns=2)
    return plots.save_figure(figure, path)


def plot_heat_maps(pairs: dict[str, MatrixPair], path: Path) -> Path:
    """Draw a row of three images for each head, by its name; both its matrices have the same colours."""
    figure, axes = plt.subplots(
        len(pairs), 3, figsize=(9.4, 3.0 * len(pairs)), layout="constrained", squeeze=False, sharex=True, sharey=True
    )
    for row, (name, (exact, approximated, tokens)) in zip(axes, pairs.items(), strict=True):
        extent = (-0.5, tokens - 0.5, len(exact) - 0.5, -0.5)  # of the corners, where a column may stand for several
        most = float(exact.flatten().quantile(BRIGHTEST))
        end = max(float((approximated - exact).abs().max()) / 2, 1e-12)
        weights: dict[str, Any] = {"cmap": "viridis", "vmin": 0, "vmax": most, "extent": extent}
        signed: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -end, "vmax": end, "extent": extent}
        _image(row[0], exact, f"{name}: exact", weights)
        _image(row[1], approximated, "approximated", weights)
        _image(row[2], approximated - exact, "approximated − exact", signed)
    figure.supxlabel("key", fontsize=10)
    figure.supylabel("query", fontsize=10)
    figure.savefig(path, metadata={"Date": None}, dpi=110)
    plt.close(figure)
    return path


def _image(axis: Axes, matrix: Tensor, title: str, look: dict[str, Any]) -> None:
    image = axis.imshow(matrix.numpy(), aspect="auto", interpolation="antialiased", **look)
    axis.set_title(title, fontsize=9)
    axis.tick_params(labelsize=7)
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.85, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_edgecolor(plots.QUIET)


OF_HEADS = (
    "S is softmax(q kᵀ / √E) of the layer's own queries and keys, and Ŝ the matrix that its attention multiplies the"
    " values with, without Nyström's value skip. Padded tokens are neither rows nor columns. Constants and draws that"
    " the examples of a batch share are those of the compared sequences, not of a whole evaluation batch."
)
OF_SWAPS = (
    "Every attention of the model is replaced, and nothing is trained. Nyström attention keeps its value skip, so “no"
    " attention” is the value skip alone. With 1 landmark all tokens get the same mixture of the values."
)
OF_CURVES = (
    "Nyström attention with each landmark rule and the model's own pseudo-inverse; beside it the classical methods,"
    " which take columns C and rows R of S itself at tokens in equal distances, and the best matrix of rank m. The"
    " classical error is the Schur complement of the landmark block. It has no bound where that block is"
    " nearly singular. The axes end at .001 and 10."
)
OF_INVERSE = (
    "A is kernel 2, softmax of landmark queries and keys, Z the iterative pseudo-inverse after each step, A⁺ that of"
    " the singular value decomposition with the attention's cut-off; in float64."
)
OF_MAPS = (
    "One sequence of the dev split. The first two images have the same colours, which end at the 99.5 % quantile"
    " of the exact weights; the colours of the difference end at half of its largest entry. Of a sequence of more than"
    f" {IMAGE_COLUMNS:,} tokens, neighbouring columns are shown as their mean."
)


def write_diagnosis_page(path: Path, diagnosis: Diagnosis, pairs: dict[str, MatrixPair]) -> Path:
    """Write the page atomically, and return its path; `pairs` are the heat maps' matrices by the name of the head."""
    subject = diagnosis["subject"]
    trained = f"seed {subject['seed']}" if subject["run"] else "a fresh model"
    return write_page(
        path,
        title=f"How far from exact? {subject['task']} / {subject['attention']}",
        subtitle=f"Protocol {subject['protocol']}, size {subject['size']}, {trained}. What each number means:"
        " docs/diagnosis.md.",
        sections=_sections(diagnosis, pairs),
        problems=[],
    )


def _sections(diagnosis: Diagnosis, pairs: dict[str, MatrixPair]) -> list[Section]:
    sections = {
        "Answer": [Part(texts=answer(diagnosis))],
        "Heads": [Part(texts=[OF_HEADS], tables=[heads_table(diagnosis)])],
    }
    if diagnosis["swaps"]:
        figure = svg(partial(plot_swaps, diagnosis))
        sections["Swaps"] = [Part(texts=[OF_SWAPS], tables=[swaps_table(diagnosis)], figures={"accuracy": figure})]
    errors = {
        "matrix error against landmarks": svg(partial(plot_errors, diagnosis, key="matrix_error")),
        "output error against landmarks": svg(partial(plot_errors, diagnosis, key="output_error")),
    }
    sections["Landmarks"] = [Part(texts=[OF_CURVES], figures=errors)]
    sections["Heat maps"] = [Part(texts=[OF_MAPS], figures={"matrices": svg(partial(plot_heat_maps, pairs))})]
    inverse = svg(partial(plot_convergence, diagnosis))
    sections["Pseudo-inverse"] = [Part(texts=[OF_INVERSE], figures={"convergence": inverse})]
    return [Section(name=name, parts=parts) for name, parts in sections.items()]
