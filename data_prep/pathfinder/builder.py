"""Pathfinder as a TFDS dataset: grey images, and whether both discs are on the same contour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder
from lra.data.pathfinder import VERSION


class Pathfinder(RowsBuilder):
    """Dashed contours with two marked ends; each image size is a TFDS configuration."""

    VERSION = tfds.core.Version(VERSION)
    RELEASE_NOTES = {  # noqa: RUF012  TFDS reads it from the class
        **RowsBuilder.RELEASE_NOTES,
        "2.0.0": "Generated images: contours begin as in the published generator; Path-X has 8 distractors, not 2.",
    }
    DESCRIPTION = "Are the two marked ends on one contour? Grey images of dashed contours."
    CITATION = """
@inproceedings{linsley2018learning, title={Learning long-range spatial dependencies with horizontal gated recurrent
units}, author={Drew Linsley and Junkyung Kim and Vijay Veerabadran and Charles Windolf and Thomas Serre},
booktitle={NeurIPS}, year={2018}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: grey levels `[side, side]`, and 1 if both discs are on the same contour."""
        side = settings["drawn_side"]
        return {
            "image": tfds.features.Tensor(shape=(side, side), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(num_classes=2),
        }
