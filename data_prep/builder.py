"""The base class of this project's TFDS datasets: it writes rows to array_record files, without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import tensorflow_datasets as tfds

from data_prep.source import TFDS_SPLITS

Rows = Callable[[], Iterator[Mapping[str, object]]]
LRA = """
@inproceedings{tay2021long, title={Long Range Arena: A Benchmark for Efficient Transformers}, author={Yi Tay and
Mostafa Dehghani and Samira Abnar and Yikang Shen and Dara Bahri and Philip Pham and Jinfeng Rao and Liu Yang and
Sebastian Ruder and Donald Metzler}, booktitle={ICLR}, year={2021}}
"""


class RowsBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS is untyped
    """A dataset whose rows come from one function per split; they keep their order unless `IN_ORDER` is False.

    Args:
        rows: for each of the dataset's splits (train, dev, test) a function that yields its rows as feature values.
        config: name of the TFDS configuration.
        data_dir: folder for TFDS datasets.

    Attributes:
        tick: called for every row, to show progress.
    """

    RELEASE_NOTES = {"1.0.0": "First version."}  # noqa: RUF012  TFDS reads it from the class
    DESCRIPTION: str
    HOMEPAGE = "https://github.com/google-research/long-range-arena"
    CITATION: str
    IN_ORDER = True

    def __init__(self, *, rows: Mapping[str, Rows], config: str, data_dir: str):
        self._rows = rows
        self.tick: Callable[[], object] = lambda: None
        super().__init__(
            config=tfds.core.BuilderConfig(name=config, version=self.VERSION, description=self.DESCRIPTION),
            data_dir=data_dir,
            file_format="array_record",
        )

    def features(self) -> dict[str, tfds.features.FeatureConnector]:
        """Return the TFDS features of a row by name."""
        raise AssertionError(f"{type(self).__name__} has no features")

    def _info(self) -> tfds.core.DatasetInfo:
        info = self.dataset_info_from_configs(
            description=self.DESCRIPTION,
            features=tfds.features.FeaturesDict(self.features()),
            homepage=self.HOMEPAGE,
            citation=self.CITATION + LRA,
            disable_shuffling=self.IN_ORDER,
        )
        info.initialize_from_bucket = lambda: None  # only for TFDS's own datasets; each call leaves a temporary folder
        return info

    def _split_generators(self, dl_manager: object) -> dict[str, object]:
        return {TFDS_SPLITS[name]: self._generate_examples(rows) for name, rows in self._rows.items()}

    def _generate_examples(self, rows: Rows) -> Iterator[tuple[int, Mapping[str, object]]]:
        for number, row in enumerate(rows()):
            self.tick()
            yield number, row
