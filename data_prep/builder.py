"""The base classes of this project's TFDS datasets: they write rows to array_record files, without TensorFlow.

TFDS collects the rows of a split in a `Shuffler`, even for a dataset that keeps its order. It does so in memory, and
beyond 1 GB with TensorFlow's file system, which this project does not use. `UnshuffledRows` has one row in memory.
"""

import contextlib
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from data_prep.source import TFDS_SPLITS
from lra.types import UserError

HEAD = struct.Struct("=QQ")  # key of a row, and its number of bytes
Row = Mapping[str, Any]  # values of the features by name
Rows = Callable[[], Iterator[Row]]
LRA = """
@inproceedings{tay2021long, title={Long Range Arena: A Benchmark for Efficient Transformers}, author={Yi Tay and
Mostafa Dehghani and Samira Abnar and Yikang Shen and Dara Bahri and Philip Pham and Jinfeng Rao and Liu Yang and
Sebastian Ruder and Donald Metzler}, booktitle={ICLR}, year={2021}}
"""


class UnshuffledRows:
    """Has the interface of TFDS's `Shuffler`, but does not shuffle; `dirpath` gets a temporary file with the rows."""

    def __init__(self, dirpath: str | Path, **ignored: object):
        self._file = tempfile.TemporaryFile(dir=dirpath)  # noqa: SIM115  open until the rows are written
        self.size = self.num_examples = 0

    @property
    def bucket_lengths(self) -> list[int]:
        """Number of rows in each bucket; there is one bucket."""
        return [self.num_examples]

    def add(self, key: int, data: bytes) -> None:
        """Append a row."""
        self._file.write(HEAD.pack(key, len(data)))
        self._file.write(data)
        self.size += len(data)
        self.num_examples += 1

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the rows; this is possible only once."""
        self._file.seek(0)
        while head := self._file.read(HEAD.size):
            key, length = HEAD.unpack(head)
            yield key, self._file.read(length)
        self._file.close()


@contextlib.contextmanager
def without_shuffling() -> Iterator[None]:
    """Within this context, TFDS uses `UnshuffledRows` in place of its `Shuffler`."""
    from tensorflow_datasets.core import shuffle

    theirs, shuffle.Shuffler = shuffle.Shuffler, UnshuffledRows
    try:
        yield
    finally:
        shuffle.Shuffler = theirs


class RowWriter(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS is untyped
    """Writes the rows of each split; they keep their order unless the dataset's description says that TFDS shuffles.

    Attributes:
        rows: for each of the dataset's splits (train, dev, test) a function that yields its rows as feature values.
        tick: called for every row, to show progress.
    """

    rows: Mapping[str, Rows]
    tick: Callable[[], object] = staticmethod(lambda: None)

    def _download_and_prepare(self, *arguments: Any, **named: Any) -> None:
        with without_shuffling() if self.info.disable_shuffling else contextlib.nullcontext():
            super()._download_and_prepare(*arguments, **named)

    def _split_generators(self, dl_manager: object) -> dict[str, object]:
        return {TFDS_SPLITS[name]: self._generate_examples(name, rows) for name, rows in self.rows.items()}

    def _generate_examples(self, split: str, rows: Rows) -> Iterator[tuple[int, Row]]:
        number = -1
        for number, row in enumerate(rows()):
            self.tick()
            yield number, row
        if number < 0:
            raise UserError(f"the source has no {split} example")


class RowsBuilder(RowWriter, skip_registration=True):  # type: ignore[call-arg]
    """The dataset of a task, which `lra prepare` writes; subclasses describe it.

    TFDS knows the benchmark's tasks as configurations of `lra.from_config.datasets.Lra`, and no subclass by its own
    name.

    `settings` are the task's `data` settings, `config` is the name of the TFDS configuration.
    """

    RELEASE_NOTES = {"1.0.0": "First version."}  # noqa: RUF012  TFDS reads it from the class
    DESCRIPTION: str
    HOMEPAGE = "https://github.com/google-research/long-range-arena"
    CITATION: str
    IN_ORDER = True

    def __init__(self, *, rows: Mapping[str, Rows], settings: Mapping[str, Any], config: str, data_dir: str):
        self.rows, self.settings = rows, settings
        super().__init__(
            config=tfds.core.BuilderConfig(name=config, version=self.VERSION, description=self.DESCRIPTION),
            data_dir=data_dir,
            file_format="array_record",
        )

    def __init_subclass__(cls, **named: Any):
        super().__init_subclass__(**{**named, "skip_registration": True})

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the TFDS features of a row by name; `settings` are the task's `data` settings."""
        raise AssertionError("this dataset has no features")

    @classmethod
    def describe(cls, builder: tfds.core.DatasetBuilder, settings: Mapping[str, Any]) -> tfds.core.DatasetInfo:
        """Describe this dataset for a builder that reads or writes it."""
        info = builder.dataset_info_from_configs(
            description=cls.DESCRIPTION,
            features=tfds.features.FeaturesDict(cls.features(settings)),
            homepage=cls.HOMEPAGE,
            citation=cls.CITATION + LRA if cls.CITATION else "",  # data of the user's own is not the benchmark's
            disable_shuffling=cls.IN_ORDER,
        )
        info.initialize_from_bucket = lambda: None  # only for TFDS's own datasets; each call leaves a temporary folder
        return info

    def _info(self) -> tfds.core.DatasetInfo:
        return self.describe(self, self.settings)
