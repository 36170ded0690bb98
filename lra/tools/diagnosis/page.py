"""Draw the figures of a diagnosis, attention matrices of one sequence as images, and write all as one HTML page."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

from lra.terminal import figure_names, figure_style, plots
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import PALETTE, QUIET, WIDTHS
from lra.terminal.html_page import Part, Section, page_figure, write_page
from lra.tools.diagnosis.measure import IMAGE_COLUMNS, MatrixPair
from lra.tools.diagnosis.schema import Diagnosis
from lra.tools.diagnosis.sentences import answer, heads_table, swap_of, swaps_table

LOOKS: dict[str, dict[str, Any]] = {
    "segment_means": {"color": PALETTE[0], "marker": "o", "label": "Nyström, segment means"},
    "strided": {"color": PALETTE[1], "marker": "s", "label": "Nyström, strided tokens"},
    "random": {"color": PALETTE[2], "marker": "^", "label": "Nyström, random tokens"},
    "kmeans": {"color": PALETTE[3], "marker": "D", "label": "Nyström, k-means"},
    "classical": {"color": PALETTE[4], "ls": "--", "marker": "v", "label": "classical, C W⁺ R"},
    "cur": {"color": PALETTE[5], "ls": "--", "marker": "x", "label": "CUR, C (C⁺ S R⁺) R"},
    "best": {"color": QUIET, "ls": ":", "label": "best of rank m"},
}
SHOWN_ERRORS = (1e-3, 10.0)  # ends of the axes of errors
HEAD_LINES = ("-", "--", ":", "-.")
HEAD_MARKERS = "osD^"
ErrorKey = Literal["matrix_error", "output_error"]
ERRORS = {"matrix_error": "‖Ŝ − S‖ / ‖S‖", "output_error": "‖(Ŝ − S) V‖ / ‖S V‖"}
MOST_HEADS = 8  # heads that are shown: the model's first ones
IN_A_ROW = 4  # panels of heads side by side
SIGNED = "cividis"  # colours of differences: 0 is grey, less is darker and more is brighter, on a grey print too
BRIGHTEST = 0.995  # quantile of the exact weights that has the end of the colour scale


@figure_style.for_a_paper
def plot_errors(diagnosis: Diagnosis, path: Path, *, key: ErrorKey) -> Drawn:
    """Draw an error of each head against the number of landmarks; errors beyond the axis are marks at its end."""
    heads = [
        (f"layer {number}, head {place}", head)
        for number, of_layer in enumerate(diagnosis["layers"], start=1)
        for place, head in enumerate(of_layer, start=1)
    ]
    figure, axes = _panels(len(heads), height=1.55, legend=0.75)
    for axis, (name, head) in zip(axes.flat, heads, strict=False):
        for curve in head["curves"]:
            errors = np.clip(curve[key][: len(curve["num_landmarks"])], *SHOWN_ERRORS)
            look = LOOKS[curve["method"]]
            axis.plot(curve["num_landmarks"][: len(errors)], errors, ms=3, lw=0.9, clip_on=False, zorder=3, **look)
        if key == "matrix_error":
            axis.axhline(head["uniform_error"], color=QUIET, lw=1, label="uniform attention")
        if diagnosis["subject"]["is_nystrom"]:
            own = diagnosis["subject"]["num_landmarks"], head[key]
            axis.plot(*own, "*", ms=7, mec="white", mew=0.4, color="black", label="the model's own", zorder=4)
        axis.set_title(name, pad=6)
        axis.set_xlabel("landmarks m" if axis.get_subplotspec().is_last_row() else "")
    plots.count_axis(axes[0, 0], heads[0][1]["curves"][0]["num_landmarks"], most=5)
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylim(SHOWN_ERRORS)
    figure.supylabel(ERRORS[key])
    figure_names.legend_below(figure, [axes[0, 0]])
    caption = figure_names.caption_of(
        f"Relative error {ERRORS[key]} of each head against the number of landmarks",
        f"Errors below {SHOWN_ERRORS[0]:g} and above {SHOWN_ERRORS[1]:g} are drawn at the ends of the axis.",
    )
    return figure_style.save_figure(figure, path, caption=caption)


def _panels(count: int, *, height: float, legend: float) -> tuple[Figure, Any]:
    """Make so many panels with the same axes in rows over two columns of a paper; heights in inches."""
    across = min(count, IN_A_ROW)
    rows = -(-count // across)
    figure, axes = plt.subplots(
        rows,
        across,
        figsize=(WIDTHS[2], height * rows + legend),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, axes


@figure_style.for_a_paper
def plot_convergence(diagnosis: Diagnosis, path: Path) -> Drawn:
    """Draw residual and distance of the iterative pseudo-inverse of each head after each step."""
    figure, axes = plt.subplots(1, 2, figsize=(WIDTHS[2], 2.2), layout="constrained")
    for number, heads in enumerate(diagnosis["layers"]):
        for index, head in enumerate(heads):
            name = f"layer {number + 1}, head {index + 1}"
            look: dict[str, Any] = {
                "color": PALETTE[number % len(PALETTE)],
                "ls": HEAD_LINES[index % len(HEAD_LINES)],
                "marker": HEAD_MARKERS[index % len(HEAD_MARKERS)],
            }
            for axis, key in zip(axes, ("residual", "distance"), strict=True):
                errors = head["convergence"][key]  # type: ignore[literal-required]
                axis.plot(head["convergence"]["steps"], errors, label=name, ms=3, **look)
    for axis, name in zip(axes, ("residual ‖AZA − A‖ / ‖A‖", "distance ‖Z − A⁺‖ / ‖A⁺‖"), strict=True):
        axis.set_yscale("log")
        axis.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
        axis.set_xlabel("steps")
        axis.set_ylabel(name)
    figure_names.legend_below(figure, [axes[0]])
    caption = "Iterative pseudo-inverse of each head against its steps."
    return figure_style.save_figure(figure, path, caption=caption)


@figure_style.for_a_paper
def plot_swaps(diagnosis: Diagnosis, path: Path) -> Drawn:
    """Draw the accuracy with other numbers of landmarks, beside the model as trained, exact and no attention."""
    figure, axis = plt.subplots(figsize=(WIDTHS[2], 2.6), layout="constrained")
    subject = diagnosis["subject"]
    points = [
        (swap["num_landmarks"] or 0, 100 * swap["accuracy"], 100 * swap["error"])
        for swap in diagnosis["swaps"]
        if swap["name"] == "nystrom"
    ]
    lines = {
        "trained": (PALETTE[1], "-", "as trained"),
        "exact": (PALETTE[2], "--", "exact attention"),
        "none": (QUIET, "-.", "none"),
    }
    if subject["is_nystrom"]:
        own = swap_of(diagnosis, "trained")
        points.append((subject["num_landmarks"], 100 * own["accuracy"], 100 * own["error"]))
        axis.plot(*points[-1][:2], "*", ms=8, color=PALETTE[1], zorder=3)
    for name, (colour, dashes, label) in lines.items():
        swap = swap_of(diagnosis, name)
        middle, spread = 100 * swap["accuracy"], 100 * swap["error"]
        axis.axhline(middle, color=colour, ls=dashes, label=f"{label} {middle:.1f}")
        axis.axhspan(middle - spread, middle + spread, color=colour, alpha=0.12, lw=0)
    counts, heights, spreads = zip(*sorted(points), strict=True)
    axis.errorbar(
        counts, heights, yerr=spreads, marker="o", capsize=1.5, elinewidth=0.7, color=PALETTE[0], label="Nyström"
    )
    plots.majority_line(axis, subject["majority_rate"])
    plots.count_axis(axis, counts)
    axis.set_xlabel("landmarks, in place of the model's own attention")
    axis.set_ylabel("dev accuracy (%)")
    figure_names.legend_below(figure, [axis])
    caption = "Dev accuracy with another attention in place of the model's own, without training; bars and bands: ± SE."
    return figure_style.save_figure(figure, path, caption=caption)


@figure_style.for_a_paper
def plot_heat_maps(pairs: dict[str, MatrixPair], path: Path) -> Drawn:
    """Draw a row of three images for each head, by its name; both its matrices have the same colours."""
    figure, axes = plt.subplots(
        len(pairs),
        3,
        figsize=(WIDTHS[2], 1.45 * len(pairs) + 0.35),
        layout="constrained",
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for row, (name, (exact, approximated, tokens)) in zip(axes, pairs.items(), strict=True):
        extent = (-0.5, tokens - 0.5, len(exact) - 0.5, -0.5)  # of the corners, where a column may stand for several
        most = float(exact.flatten().quantile(BRIGHTEST))
        end = max(float((approximated - exact).abs().max()) / 2, 1e-12)
        weights: dict[str, Any] = {"cmap": "viridis", "vmin": 0, "vmax": most, "extent": extent}
        signed: dict[str, Any] = {"cmap": SIGNED, "vmin": -end, "vmax": end, "extent": extent}
        shared = _image(row[0], exact, weights)
        _image(row[1], approximated, weights)
        difference = _image(row[2], approximated - exact, signed)
        _colour_bar(shared, row[:2])
        _colour_bar(difference, row[2:])
        row[0].set_ylabel(name)
    for axis, title in zip(axes[0], ("exact", "approximated", "approximated − exact (grey: 0)"), strict=True):
        axis.set_title(title)
    figure.supxlabel("key")
    figure.supylabel("query")
    caption = "Attention matrices of one sequence: exact, approximated, and their difference, grey at 0."
    return figure_style.save_figure(figure, path, caption=caption)


def _image(axis: Axes, matrix: Tensor, look: dict[str, Any]) -> AxesImage:
    axis.grid(visible=False)
    axis.yaxis.set_major_locator(plt.MaxNLocator(3, integer=True))
    return axis.imshow(matrix.numpy(), aspect="auto", interpolation="nearest", **look)


def _colour_bar(image: AxesImage, axes: Sequence[Axes]) -> None:
    bar = axes[0].figure.colorbar(image, ax=list(axes), pad=0.02, aspect=14)
    bar.locator = plt.MaxNLocator(3)
    bar.update_ticks()
    bar.outline.set_linewidth(0.4)


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
    " nearly singular. Errors beyond an axis are drawn at its end."
)
OF_INVERSE = (
    "A is kernel 2, softmax of landmark queries and keys, Z the iterative pseudo-inverse after each step, A⁺ that of"
    " the singular value decomposition with the attention's cut-off; in float64."
)
OF_MAPS = (
    "One sequence of the dev split. The first two images have the same colours, which end at the 99.5 % quantile"
    " of the exact weights; the colours of the difference end at half of its largest entry. There grey is 0, dark is"
    " too little weight and bright is too much. Of a sequence of more than"
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


def drawings(diagnosis: Diagnosis, pairs: dict[str, MatrixPair]) -> dict[str, Callable[[Path], Drawn]]:
    """The figures of a diagnosis, by the names of their files; without trained weights it has no `swaps`."""
    figures: dict[str, Callable[[Path], Drawn]] = {
        "errors": partial(plot_errors, diagnosis, key="matrix_error"),
        "output-errors": partial(plot_errors, diagnosis, key="output_error"),
        "matrices": partial(plot_heat_maps, pairs),
        "pseudo-inverse": partial(plot_convergence, diagnosis),
    }
    if diagnosis["swaps"]:
        figures["swaps"] = partial(plot_swaps, diagnosis)
    return figures


def _sections(diagnosis: Diagnosis, pairs: dict[str, MatrixPair]) -> list[Section]:
    figures = {name: page_figure(draw) for name, draw in drawings(diagnosis, pairs).items()}
    sections = {
        "Answer": [Part(texts=answer(diagnosis))],
        "Heads": [Part(texts=[OF_HEADS], tables=[heads_table(diagnosis)])],
    }
    if diagnosis["swaps"]:
        shown = {"accuracy": figures["swaps"]}
        sections["Swaps"] = [Part(texts=[OF_SWAPS], tables=[swaps_table(diagnosis)], figures=shown)]
    errors = {
        "matrix error against landmarks": figures["errors"],
        "output error against landmarks": figures["output-errors"],
    }
    sections["Landmarks"] = [Part(texts=[OF_CURVES], figures=errors)]
    sections["Heat maps"] = [Part(texts=[OF_MAPS], figures={"matrices": figures["matrices"]})]
    sections["Pseudo-inverse"] = [Part(texts=[OF_INVERSE], figures={"convergence": figures["pseudo-inverse"]})]
    return [Section(name=name, parts=parts) for name, parts in sections.items()]
