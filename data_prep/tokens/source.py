"""The source of a user's own task: one CSV, NPZ or parquet file, or a folder of PNG files by class."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.builder import Row, RowsBuilder
from data_prep.source import SOURCE_KEYWORDS, Request, Source
from data_prep.tokens.read_table import READERS, read_table
from data_prep.tokens.table import (
    DEV_FRACTION,
    SEED,
    TEST_FRACTION,
    Table,
    check_rows,
    check_sizes,
    check_trained,
    split_rows,
    with_classes,
    with_ids,
)
from lra.base.files import sha256
from lra.base.paths import package_folder
from lra.data.tokens import VERSION
from lra.data.writer import Example
from lra.types import UserError

LONGER = ("refuse", "cut")


class Tokens(RowsBuilder):
    """Token ids of sequences, with their labels."""

    VERSION = tfds.core.Version(VERSION)
    DESCRIPTION = "Token sequences and labels from a file of the user's own."
    HOMEPAGE = CITATION = ""

    @staticmethod
    def features(settings: Mapping[str, Any]) -> dict[str, tfds.features.FeatureConnector]:
        """Return the features: ids, and the label."""
        return {
            "tokens": tfds.features.Tensor(shape=(None,), dtype=np.uint16, encoding="bytes"),
            "label": tfds.features.Scalar(dtype=np.int64),
        }


def open_source(request: Request, *, file: str | None) -> Source:
    """Open the source that the request names.

    Args:
        request: the user's request; its settings include `max_length`, and `longer`, which is `refuse` or `cut`.
        file: the file or folder for `source=auto`, a path or `package:folder/file.csv`; None: one of the task's name.

    Raises:
        UserError: for an unknown `longer`, and for a file that is missing or wrong.
    """
    if request.settings.get("longer") not in LONGER:
        raise UserError(f"task.data.longer={request.settings.get('longer')} is not known; write longer: refuse, or cut")
    path = _locate(request, file)
    table = with_classes(read_table(path, request.scratch, request.settings), request.settings.get("classes"))
    check_rows(table)
    numbers = split_rows(table)
    table, vocabulary = with_ids(table, numbers["train"])
    counts = {name: len(part) for name, part in numbers.items()}
    check_sizes(table, request.spec, request.settings, counts)
    check_trained(table, numbers["train"])
    facts: dict[str, object] = {"path": str(path.resolve())}
    if path.is_file():
        facts |= {"bytes": path.stat().st_size, "sha256": sha256(path)}
    facts["tokens"] = table.tokens
    if "classes" in request.settings:
        facts["classes"] = request.settings["classes"]
    facts["split"] = (
        "the file's" if table.splits is not None else {"dev": DEV_FRACTION, "test": TEST_FRACTION, "seed": SEED}
    )
    if vocabulary is not None:
        facts["vocabulary"] = vocabulary
    most = int(request.settings["max_length"]) + 1  # the store cuts, and counts what was longer
    rows = {name: partial(_rows, table, part, most) for name, part in numbers.items()}
    return Source(
        origin=lambda: "own",
        facts=facts,
        make_builder=lambda folder: Tokens(
            rows=rows, settings=request.settings, config=f"{request.task}_{request.size}", data_dir=folder
        ),
        encode=_encode,
        dtype=np.uint16,
        first_id=0,
        counts=counts,
    )


def _rows(table: Table, numbers: np.ndarray, most: int) -> Iterator[Row]:
    """Yield rows, each with at most its first `most` ids."""
    for ids, label in zip(table.rows.read(numbers.tolist()), table.labels[numbers].tolist(), strict=True):
        yield {"tokens": ids[:most].astype(np.uint16), "label": label}


def _encode(record: Row) -> Example:
    return [record["tokens"]], int(record["label"])


def _locate(request: Request, file: str | None) -> Path:
    """Find the file; refuse a request that names none."""
    word, hint = request.source, "type source=FILE, such as source=my.csv"
    if word == "auto" and file is not None:
        path = Path(file).expanduser()
        return path if path.is_absolute() else _in_package(request.task, file)
    if word == "auto":
        paths = [folder / f"{request.task}{ending}" for folder in request.folders for ending in READERS]
        existing = [path for path in paths if path.exists()]
        if not existing:
            raise UserError(f"task={request.task} needs its file; {hint}, or put it to {paths[0]}")
        return existing[0]
    if word in SOURCE_KEYWORDS:
        raise UserError(f"source={word} is not known for task={request.task}; {hint}")
    return Path(word).expanduser()


def _in_package(task: str, file: str) -> Path:
    """Convert `package:folder/file.csv` to a path."""
    package, _, inside = file.partition(":")
    folder = package_folder(package) if package.isidentifier() else None
    if folder is None or not inside:
        raise UserError(f"task={task}: file: {file} is no package:folder/file.csv of a package that is installed here")
    return folder / inside
