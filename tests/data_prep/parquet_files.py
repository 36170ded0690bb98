"""Write parquet files in the form of the Hugging Face hub, in a folder or in the layout of its cache."""

import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

IMAGES = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(pixels: np.ndarray) -> bytes:
    """Encode `[32, 32, 3]` as PNG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def texts(rows: Iterable[tuple[bytes, int]]) -> pa.Table:
    """Make the table of `stanfordnlp/imdb`."""
    contents, labels = zip(*rows, strict=True)
    return pa.table({"text": pa.array(contents, pa.binary()).cast(pa.string()), "label": pa.array(labels, pa.int64())})


def images(planes: np.ndarray, labels: Iterable[int]) -> pa.Table:
    """Make the table of `uoft-cs/cifar10` from planes `[n, 3, 32, 32]`."""
    contents = [{"bytes": png(image.transpose(1, 2, 0)), "path": None} for image in planes]
    return pa.table(
        {"img": pa.array(contents, IMAGES), "label": pa.array([int(label) for label in labels], pa.int64())}
    )


def write_files(folder: Path, tables: Mapping[str, pa.Table], *, shards: int = 1) -> Path:
    """Write the files of each split into `folder/plain_text`, and return `folder`."""
    (folder / "plain_text").mkdir(parents=True)
    for split, table in tables.items():
        each = -(-len(table) // shards)
        for number in range(shards):
            path = folder / f"plain_text/{split}-{number:05}-of-{shards:05}.parquet"
            pq.write_table(table.slice(number * each, each), path, row_group_size=7)
    return folder


def in_cache(folder: Path, hub: Path, dataset: str, revision: str = "0" * 40) -> Path:
    """Move the files of `folder` into the layout of the hub's cache, and return the data set's folder there."""
    cached = hub / f"datasets--{dataset.replace('/', '--')}"
    snapshot = cached / "snapshots" / revision / "plain_text"
    snapshot.mkdir(parents=True)
    for name in ("blobs", "refs"):
        (cached / name).mkdir(exist_ok=True)
    (cached / "refs/main").write_text(revision)
    for path in sorted((folder / "plain_text").iterdir()):
        blob = cached / "blobs" / hashlib.sha256(path.read_bytes()).hexdigest()
        path.rename(blob)
        (snapshot / path.name).symlink_to(Path("../../../blobs") / blob.name)
    return cached
