"""The data of the benchmark, and of probes, for TFDS: importing this module registers `lra` with its configurations.

  import lra.from_config.datasets
  import tensorflow_datasets as tfds
  train = tfds.load("lra/listops", split="train", data_dir="…")

`lra/TASK` is the full size, `lra/TASK_SIZE` another one, such as `lra/listops_tiny`. The rows are those that
`lra prepare` packs into its store, before they are encoded, in the same order.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from data_prep.builder import RowsBuilder, RowWriter
from data_prep.image.source import Image
from data_prep.listops.source import Listops
from data_prep.pathfinder.source import Pathfinder
from data_prep.probes.source import Probe
from data_prep.retrieval.source import Retrieval
from data_prep.source import Request
from data_prep.text.source import Text
from lra.base.paths import conf_names, source_dirs
from lra.base.probes import probe_named
from lra.from_config import build_source, build_spec
from lra.settings.compose import load_config
from lra.settings.run_config import RunConfig

DATASETS: dict[str, type[RowsBuilder]] = {
    "listops": Listops,
    "text": Text,
    "retrieval": Retrieval,
    "image": Image,
    "pathfinder": Pathfinder,
    "pathx": Pathfinder,
    **dict.fromkeys(filter(probe_named, conf_names("task")), Probe),
}
FULL = "full"
ARRAY_RECORD = tfds.core.FileFormat.ARRAY_RECORD


@dataclass(eq=False, kw_only=True)
class TaskConfig(tfds.core.BuilderConfig):
    """A TFDS configuration: a task at a size, named as in `lra prepare task=… size=…`; `dataset` describes its rows."""

    task: str
    size: str
    dataset: type[RowsBuilder]


def _configs() -> list[TaskConfig]:
    return [
        TaskConfig(
            name=task if size == FULL else f"{task}_{size}",
            version=dataset.VERSION,
            release_notes=dataset.RELEASE_NOTES,
            description=f"{dataset.DESCRIPTION} Size: {size}.",
            task=task,
            size=size,
            dataset=dataset,
        )
        for task, dataset in DATASETS.items()
        for size in load_config("prepare", [f"task={task}", f"size={FULL}"]).task.sizes
    ]


class Lra(RowWriter):
    """Long Range Arena: one configuration per task and size.

    Args:
        config: name of the configuration, such as `listops` or `listops_tiny`.
        data_dir: folder for TFDS datasets; None: TFDS's own, `~/tensorflow_datasets`.
        version: version of the dataset; None: the newest.
        file_format: format of the files; array_record needs no TensorFlow.
        source: where the data is from, see `lra prepare --help`. `auto` also looks into TFDS's folders for downloads
            and for manual downloads.
        verify: whether a source that is not the benchmark's is refused.
    """

    VERSION = tfds.core.Version("1.0.0")  # each configuration has its own
    BUILDER_CONFIGS = _configs()
    DEFAULT_BUILDER_CONFIG_NAME = "listops"
    MANUAL_DOWNLOAD_INSTRUCTIONS = (
        "retrieval, and the published images of pathfinder and pathx, need lra_release.gz (7.7 GB):"
        f" {RowsBuilder.HOMEPAGE} has a link to it"
    )

    def __init__(
        self,
        *,
        config: str | TaskConfig | None = None,
        data_dir: str | None = None,
        version: str | None = None,
        file_format: str | tfds.core.FileFormat = ARRAY_RECORD,
        source: str = "auto",
        verify: bool = True,
    ):
        self._source, self._verify = source, verify
        super().__init__(config=config, data_dir=data_dir, version=version, file_format=file_format)

    def download_and_prepare(
        self,
        *,
        download_dir: str | None = None,
        download_config: tfds.download.DownloadConfig | None = None,
        **others: Any,
    ) -> None:
        """Make the dataset unless it exists; see TFDS.

        Raises:
            UserError: when the source is missing, broken or not the benchmark's.
        """
        downloads = Path(download_dir or self.data_dir_root / "downloads").expanduser()
        manual = Path((download_config and download_config.manual_dir) or downloads / "manual").expanduser()
        with tempfile.TemporaryDirectory() as scratch:
            self._folders, self._scratch = [downloads, manual, *source_dirs()], Path(scratch)
            super().download_and_prepare(download_dir=downloads, download_config=download_config, **others)

    def as_dataset(self, split: Any = None, **options: Any) -> Any:
        """Return what `as_data_source` returns, since TFDS has no `tf.data` form of array_record files.

        It is a sequence of dictionaries, as `tfds.as_numpy` would make of the `tf.data` form. TFDS itself reads other
        formats, and says what to do when there is no data.

        Raises:
            NotImplementedError: for an option that only `tf.data` has.
        """
        if self.info.file_format != ARRAY_RECORD or not self.is_prepared():
            return super().as_dataset(split, **options)
        decoders = options.pop("decoders", None)
        if unknown := [name for name, value in options.items() if value]:
            raise NotImplementedError(f"{', '.join(unknown)}: not for {ARRAY_RECORD.value} files; leave it out")
        return self.as_data_source(split, decoders=decoders)

    def _info(self) -> tfds.core.DatasetInfo:
        return self.builder_config.dataset.describe(self, self._cfg().task.data)

    def _split_generators(self, dl_manager: object) -> dict[str, object]:
        cfg = self._cfg()
        request = Request(
            spec=build_spec(cfg),
            settings=cfg.task.data,
            source=self._source,
            size=self.builder_config.size,
            verify=self._verify,
            folders=self._folders,
            scratch=self._scratch,
            tick=lambda done, total: None,
        )
        self.rows = build_source(cfg)(request).make_builder(str(self._scratch)).rows
        return super()._split_generators(dl_manager)

    def _cfg(self) -> RunConfig:
        return load_config("prepare", [f"task={self.builder_config.task}", f"size={self.builder_config.size}"])
