"""CIFAR-10 as a TFDS dataset: colour planes and class of each image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder
from lra.data.image import CLASSES, VERSION


class Image(RowsBuilder):
    """60,000 photographs of ten classes, of which 10,000 are for the test."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "CIFAR-10: photographs of ten classes, 32 × 32 pixels in red, green and blue."
    HOMEPAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
    CITATION = """
@techreport{krizhevsky2009learning, title={Learning Multiple Layers of Features from Tiny Images}, author={Alex
Krizhevsky}, institution={University of Toronto}, year={2009}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: colour planes `[3, 32, 32]`, and the class."""
        return {
            "planes": tfds.features.Tensor(shape=(3, 32, 32), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(names=list(CLASSES)),
        }
