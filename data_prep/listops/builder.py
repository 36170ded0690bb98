"""ListOps as a TFDS dataset: each expression as text, and its value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder
from lra.data.listops import VERSION


class Listops(RowsBuilder):
    """Nested list operations on digits, 500 to 2,000 tokens long in the benchmark."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Nested list operations (MIN, MAX, MED, SM) on digits, from Long Range Arena."
    CITATION = """
@inproceedings{nangia2018listops, title={ListOps: A Diagnostic Dataset for Latent Tree Learning}, author={Nikita
Nangia and Samuel Bowman}, booktitle={NAACL Student Research Workshop}, year={2018}}
"""
    IN_ORDER = False  # TFDS has shuffled the rows since the first version

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: expression and value."""
        return {"source": tfds.features.Text(), "target": tfds.features.ClassLabel(num_classes=10)}
