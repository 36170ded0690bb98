"""A user's own sequences as a TFDS dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder
from lra.data.tokens import VERSION


class Tokens(RowsBuilder):
    """Token ids of sequences, with their labels."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Token sequences and labels from a file of the user's own."
    CITATION = ""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: ids, and the label."""
        return {
            "tokens": tfds.features.Tensor(shape=(None,), dtype=np.uint16, encoding="bytes"),
            "label": tfds.features.Scalar(dtype=np.int64),
        }
