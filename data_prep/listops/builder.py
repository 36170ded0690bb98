"""ListOps as a TFDS dataset: text of the expression and its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow_datasets as tfds

CITATION = """
@inproceedings{tay2021long, title={Long Range Arena: A Benchmark for Efficient Transformers}, author={Yi Tay and
Mostafa Dehghani and Samira Abnar and Yikang Shen and Dara Bahri and Philip Pham and Jinfeng Rao and Liu Yang and
Sebastian Ruder and Donald Metzler}, booktitle={ICLR}, year={2021}}
@inproceedings{nangia2018listops, title={ListOps: A Diagnostic Dataset for Latent Tree Learning}, author={Nikita
Nangia and Samuel Bowman}, booktitle={NAACL Student Research Workshop}, year={2018}}
"""
SPLITS = {"train": "train", "dev": "validation", "test": "test"}


class Listops(tfds.core.GeneratorBasedBuilder):
    """Nested list operations on digits, 500 to 2,000 tokens long in the benchmark.

    Args:
        rows: from a split's name (train, dev, test) to its expressions and values.
        kwargs: for the base class: data_dir, config, file_format.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First version."}  # noqa: RUF012  TFDS reads it from the class

    def __init__(self, *, rows: Callable[[str], Iterator[tuple[str, int]]], config: str, data_dir: str):
        self._rows = rows
        super().__init__(
            config=tfds.core.BuilderConfig(name=config, version=self.VERSION, description="Expressions and values."),
            data_dir=data_dir,
            file_format="array_record",
        )

    def _info(self) -> tfds.core.DatasetInfo:
        features = {"source": tfds.features.Text(), "target": tfds.features.ClassLabel(num_classes=10)}
        return self.dataset_info_from_configs(
            description="Nested list operations (MIN, MAX, MED, SM) on digits, from Long Range Arena.",
            features=tfds.features.FeaturesDict(features),
            supervised_keys=("source", "target"),
            homepage="https://github.com/google-research/long-range-arena",
            citation=CITATION,
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        return {theirs: self._generate_examples(ours) for ours, theirs in SPLITS.items()}

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for key, (source, target) in enumerate(self._rows(split)):
            yield key, {"source": source, "target": target}
