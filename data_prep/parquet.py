"""Read the parquet files of a data set on the Hugging Face hub, from a folder or from the hub's cache.

The files are `plain_text/{train,test}-NNNNN-of-NNNNN.parquet`, in the folder of a download, or in
`datasets--OWNER--NAME/snapshots/REVISION` of the cache, where they are links to `datasets--OWNER--NAME/blobs`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data_prep.archives import FREE_BYTES, MOST_TIMES_LARGER, broken, refuse_outside
from data_prep.source import Request, determine_origin
from lra.base.files import regular_file
from lra.types import UserError

if TYPE_CHECKING:  # loading it takes half a second, and other forms do not need it
    import pyarrow as pa
    import pyarrow.parquet as pq

ENDING = ".parquet"
CONFIG = "plain_text"  # name of the only configuration of these data sets, and of its folder
SNAPSHOTS, REVISION_IN_USE = "snapshots", "refs/main"
SHARD = re.compile(r"(?P<split>\w+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.parquet")
ROWS_AT_ONCE = 8  # a forged file can repeat a text that it has once, so that a batch needs as many times its memory
LARGEST_BYTES = 1 << 20  # of a text or an image
LARGEST_NAME_BYTES, MOST_PARTS = 1 << 20, 1 << 16  # in the file's own description of itself
LETTERS = 160  # letters of pyarrow's text in an error
Row = tuple[str, bytes, int]  # where it stands, its content, its label


def names(*datasets: str) -> tuple[str, ...]:
    """Return the names of the folders in the hub's cache; `datasets` are such as `stanfordnlp/imdb`."""
    return tuple(f"datasets--{dataset.replace('/', '--')}" for dataset in datasets)


def is_parquet(path: Path) -> bool:
    """Whether a source is read as such files: one of them, their folder, or a folder of the hub's cache."""
    if not path.is_dir():
        return path.suffix == ENDING
    return any((path / name).is_dir() for name in (SNAPSHOTS, CONFIG)) or any(path.glob(f"*{ENDING}"))


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """The parquet files of a task.

    `files` are those of each split, in order, all in `folder`; `column` is that of the content, such as `text` or
    `img.bytes`.
    """

    request: Request
    folder: Path
    files: dict[str, list[Path]]
    column: str

    @classmethod
    def open(cls, request: Request, path: Path, dataset: str, splits: tuple[str, ...], column: str) -> Parquet:
        """Find the files of the splits; those of others are ignored.

        `path` is one of the files, or a folder as `is_parquet` says; `dataset` is the name on the hub, for errors.

        Raises:
            UserError: when a file is missing, or is a link that leads outside of the folder or the hub's cache.
        """
        folder = _folder(Path(os.path.realpath(path if path.is_dir() else path.parent)), dataset)
        inside = next((place.parent for place in (folder, *folder.parents) if place.name == SNAPSHOTS), folder)
        files = {split: _shards(folder, split, dataset) for split in splits}
        for file in (file for part in files.values() for file in part):
            refuse_outside(file, inside)
            regular_file(file)
        return cls(request=request, folder=folder, files=files, column=column)

    def rows(self, split: str) -> Iterator[Row]:
        """Yield the rows of a split, in the order of the files.

        Raises:
            UserError: with file and row, for a file that is damaged or too large, or a row of another form.
        """
        for path in self.files[split]:
            number = unpacked_bytes = 0
            allowed_bytes = MOST_TIMES_LARGER * path.stat().st_size + FREE_BYTES
            with self._opened(path) as file:
                for batch in file.iter_batches(ROWS_AT_ONCE, columns=[self.column, "label"], use_threads=False):
                    self.request.tick(number, file.metadata.num_rows)
                    for content, label in zip(
                        self._contents(path, number, batch), self._labels(path, number, batch), strict=True
                    ):
                        unpacked_bytes += len(content)
                        if unpacked_bytes > allowed_bytes:
                            raise UserError(f"{path} unpacks to more than {MOST_TIMES_LARGER} times its size")
                        yield f"{path}, row {number}", content, label
                        number += 1
                if number != file.metadata.num_rows:
                    raise UserError(f"{path} has {number:,} rows and says {file.metadata.num_rows:,}; fetch it again")

    def origin(self, benchmark: dict[str, int]) -> tuple[str, dict[str, object]]:
        """Decide the origin and collect facts, as `determine_origin` does; the revision too, if the cache names it.

        The numbers of rows are those that the files state; `rows` checks them.
        """
        counts = dict.fromkeys(self.files, 0)
        for split, part in self.files.items():
            for path in part:
                with self._opened(path) as file:
                    counts[split] += file.metadata.num_rows
        files = [file for part in self.files.values() for file in part]
        origin, facts = determine_origin(self.request, self.folder, (), counts, benchmark, files=files)
        places = (self.folder, *self.folder.parents)
        revision = next((place.name for place in places if place.parent.name == SNAPSHOTS), None)
        return origin, facts | ({"revision": revision} if revision else {})

    @contextmanager
    def _opened(self, path: Path) -> Iterator[pq.ParquetFile]:
        """Open a file whose columns and declared sizes are right; what pyarrow raises in the block is one line."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(
                path,
                thrift_string_size_limit=LARGEST_NAME_BYTES,
                thrift_container_size_limit=MOST_PARTS,
                arrow_extensions_enabled=False,
            ) as file:
                self._check(file, path)
                yield file
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise broken(path, ValueError(" ".join(str(error).split())[:LETTERS])) from error

    def _check(self, file: pq.ParquetFile, path: Path) -> None:
        """Refuse a file with other columns, or whose sizes as declared cannot be."""
        import pyarrow as pa

        outer, _, inner = self.column.partition(".")
        schema = file.schema_arrow
        found = {name: schema.field(name).type for name in (outer, "label") if schema.names.count(name) == 1}
        content = found.get(outer)
        if inner and content is not None:
            has = pa.types.is_struct(content) and content.get_field_index(inner) >= 0
            content = content.field(inner).type if has else None
        kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
        if content is None or not any(kind(content) for kind in kinds):
            raise UserError(
                f"{path} has no column {self.column} of {'images' if inner else 'texts'}: {_listed(schema)}"
            )
        if "label" not in found or not pa.types.is_integer(found["label"]):
            raise UserError(f"{path} has no column label of whole numbers: {_listed(schema)}")
        size, metadata = path.stat().st_size, file.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
        if any(chunk.total_compressed_size > size for chunk in chunks):
            raise UserError(f"{path} says that it has more bytes than its {size:,}; fetch it again")
        if sum(chunk.total_uncompressed_size for chunk in chunks) > MOST_TIMES_LARGER * size + FREE_BYTES:
            raise UserError(f"{path} unpacks to more than {MOST_TIMES_LARGER} times its size")

    def _contents(self, path: Path, first: int, batch: pa.RecordBatch) -> list[bytes]:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = batch.column(0)
        if pa.types.is_struct(column.type):
            (column,) = column.flatten()  # a row without a value has none in its parts
        _no_nulls(column, self.column, path, first)
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if longest > LARGEST_BYTES:
            raise UserError(f"{path}: {self.column} has {longest:,} bytes in a row, at most {LARGEST_BYTES:,} are read")
        contents: list[bytes] = column.cast(pa.large_binary()).to_pylist()
        return contents

    def _labels(self, path: Path, first: int, batch: pa.RecordBatch) -> list[int]:
        column, classes = batch.column(1), self.request.spec.num_classes
        _no_nulls(column, "label", path, first)
        labels = np.asarray(column)
        wrong = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(wrong):
            where = f"{path}, row {first + wrong[0]}"
            raise UserError(f"{where}: the label is {labels[wrong[0]]} instead of 0 to {classes - 1}")
        return [int(label) for label in labels]


def _no_nulls(column: pa.Array, name: str, path: Path, first: int) -> None:
    if column.null_count:
        row = first + int(np.argmax(np.asarray(column.is_null())))
        raise UserError(f"{path}, row {row}: {name} has no value")


def _listed(schema: pa.Schema) -> str:
    """List the columns of a file with their types, for an error."""
    text = ", ".join(f"{field.name} ({field.type})" for field in schema)
    return f"it has {' '.join(text.split())[:LETTERS] or 'none'}"


def _folder(path: Path, dataset: str) -> Path:
    """Return the folder of the files in the one that the user named; refuse several revisions with none in use."""
    if (path / SNAPSHOTS).is_dir():
        revisions = sorted(place for place in (path / SNAPSHOTS).iterdir() if place.is_dir())
        in_use = path / REVISION_IN_USE
        if in_use.is_file():
            name = regular_file(in_use).read_bytes()[:LETTERS].decode(errors="replace").strip()
            revisions = [place for place in revisions if place.name == name] or revisions
        if len(revisions) != 1:
            known = ", ".join(place.name for place in revisions) or "none"
            raise UserError(
                f"{path} has several revisions of {dataset}, or none: {known}; name one: source={path}/{SNAPSHOTS}/…"
            )
        (path,) = revisions
    return path / CONFIG if (path / CONFIG).is_dir() else path


def _shards(folder: Path, split: str, dataset: str) -> list[Path]:
    """Return the files of a split, in order; refuse it when one is missing."""
    found = {path.name: path for path in folder.iterdir()}
    matches = [match for name in found if (match := SHARD.fullmatch(name)) and match["split"] == split]
    if not matches:
        raise UserError(
            f"{folder} has no {split}-00000-of-00001{ENDING}; source= wants the folder of {dataset}'s parquet files, or"
            " the hub's cache"
        )
    count = matches[0]["count"]
    wanted = [f"{split}-{number:05}-of-{count}{ENDING}" for number in range(int(count))]
    missing = next((name for name in wanted if name not in found), None)
    extra = next((match.string for match in matches if match.string not in wanted), None)
    if missing or extra:
        raise UserError(
            f"{folder} has no {missing}; put it beside the others"
            if missing
            else f"{folder} has {extra} beside {wanted[0]}; which are the files of {split}? Remove the others"
        )
    return [found[name] for name in wanted]
