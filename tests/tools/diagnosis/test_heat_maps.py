"""The sign of a difference between two attention matrices can be read from a grey print."""

import numpy as np
import torch
from PIL import Image

from lra.tools.diagnosis import page
from lra.tools.diagnosis.measure import MatrixPair

LEAST_STEP = 0.25  # between the grey levels of 0 and of each end, from 0 to 1


def test_in_grey_a_negative_difference_is_darker_and_a_positive_one_brighter(monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(page.figure_style, "save_figure", lambda figure, *_, **__: drawn.append(figure))
    exact = torch.full((3, 3), 0.3)
    approximated = exact + torch.tensor([[-0.2, 0.0, 0.2]] * 3)
    page.plot_heat_maps({"layer 1, head 1": MatrixPair(exact, approximated, 3)}, tmp_path / "x.png")
    (figure,) = drawn
    (image,) = next(axis for axis in figure.axes if "−" in axis.get_title()).images
    colours = image.to_rgba(image.get_array()[0], bytes=True)[None, :, :3]
    less, none, more = np.asarray(Image.fromarray(colours).convert("L"))[0] / 255
    assert less + LEAST_STEP < none < more - LEAST_STEP
