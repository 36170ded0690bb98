"""IMDb reviews as a TFDS dataset: the bytes of each review, and its label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder
from lra.data.text import VERSION


class Text(RowsBuilder):
    """50,000 film reviews, half of them positive, half for training."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Film reviews from IMDb as raw bytes, positive or negative."
    HOMEPAGE = "https://ai.stanford.edu/~amaas/data/sentiment/"
    CITATION = """
@inproceedings{maas2011learning, title={Learning Word Vectors for Sentiment Analysis}, author={Andrew L. Maas and
Raymond E. Daly and Peter T. Pham and Dan Huang and Andrew Y. Ng and Christopher Potts}, booktitle={ACL}, year={2011}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: the bytes, and the label, 0 for negative and 1 for positive."""
        return {
            "text": tfds.features.Tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(names=["neg", "pos"]),
        }
