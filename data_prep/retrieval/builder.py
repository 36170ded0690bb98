"""Retrieval as a TFDS dataset: pairs of documents; the bytes of a document are stored where it comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder
from lra.data.retrieval import VERSION


class Retrieval(RowsBuilder):
    """Does one of two papers cite the other? 147,086 / 18,090 / 17,437 pairs."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Pairs of papers of the ACL Anthology Network: does one cite the other?"
    HOMEPAGE = "https://aan.how"
    CITATION = """
@article{radev2013acl, title={The ACL Anthology Network corpus}, author={Dragomir R. Radev and Pradeep Muthukrishnan
and Vahed Qazvinian and Amjad Abu-Jbara}, journal={Language Resources and Evaluation}, year={2013}}
"""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: the two documents, and the label.

        `documents` has a row for each of the two: the document's number, in the order of first mention, and its bytes
        in `text`, which is empty if the document was in an earlier pair.
        """
        return {
            "documents": tfds.features.Tensor(shape=(2, 2), dtype=np.int64),
            "text": tfds.features.Tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
            "label": tfds.features.ClassLabel(num_classes=2),
        }
