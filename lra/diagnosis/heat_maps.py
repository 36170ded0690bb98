"""Show attention matrices of one sequence as images: exact, approximated, and their difference.

Letters: R rows, N real tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from lra.diagnosis.measure import MatrixPair
from lra.results.plots import QUIET

MOST_HEADS = 8  # heads that are shown: the model's first ones
BRIGHTEST = 0.995  # quantile of the exact weights that has the end of the colour scale


def plot_heat_maps(pairs: dict[str, MatrixPair], path: Path) -> Path:
    """Draw a row of three images for each head, by its name; both matrices `[R, N]` have the same colours."""
    figure, axes = plt.subplots(
        len(pairs), 3, figsize=(9.4, 3.0 * len(pairs)), layout="constrained", squeeze=False, sharex=True, sharey=True
    )
    for row, (name, (exact, mine)) in zip(axes, pairs.items(), strict=True):
        most = float(exact.flatten().quantile(BRIGHTEST)) if exact.numel() <= 2**23 else float(exact.max())
        apart = max(float((mine - exact).abs().max()) / 2, 1e-12)
        weights: dict[str, Any] = {"cmap": "viridis", "vmin": 0, "vmax": most}
        _image(row[0], exact, f"{name}: exact", weights)
        _image(row[1], mine, "approximated", weights)
        _image(row[2], mine - exact, "approximated − exact", {"cmap": "RdBu_r", "vmin": -apart, "vmax": apart})
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
    bar.outline.set_edgecolor(QUIET)
