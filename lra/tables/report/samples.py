"""Samples of a report: examples of each task whose data is prepared here and is that of the records."""

import base64
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lra.base.paths import conf_names
from lra.base.printed_commands import override
from lra.data.codec import images
from lra.from_config import build_codec, build_data
from lra.from_config.store import is_prepared
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.terminal.plots import contact_sheet
from lra.types import UserError

SHEET = 16  # images that are shown for a task


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Examples of a task, as lines of text or as a PNG in base64."""

    task: str
    note: str
    texts: list[str] = field(default_factory=list)
    image: str = ""


def task_samples(records: list[Record], *, data_dir: str, count: int) -> list[Sample]:
    """Draw examples of each task whose store is prepared here and holds the data of the records.

    Args:
        records: the records that name tasks, sizes and the hashes of their data.
        data_dir: the folder with the stores.
        count: number of examples of a task without images; of one with images there are 16.
    """
    hashes: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for record in records:
        identity = record.identity
        hashes[identity["task"], identity["size"]].append(record.provenance["data_sha256"])
    samples = []
    for task, size in sorted(hashes):
        sample = _sample(task, size, hashes[task, size], data_dir=data_dir, count=count)
        if sample is not None:
            samples.append(sample)
    return samples


def _sample(task: str, size: str, hashes: list[dict[str, str]], *, data_dir: str, count: int) -> Sample | None:
    """Draw examples of a task; None where its store is not here, or holds other data than those with the hashes."""
    if task not in conf_names("task") or size not in conf_names("size"):  # of a package that is not here
        return None
    chosen = load_config("train", [f"task={task}", f"size={size}", override("paths.data", data_dir)])
    if not is_prepared(chosen):
        return None
    try:
        data, codec = build_data(chosen), build_codec(chosen)
    except UserError:  # of another version: lra prepare says more
        return None
    if data.data_sha256 not in hashes:
        return None
    split = data.splits["test"]
    note = f"test split, size {size}, data {data.manifest['origin']}"
    shown = [split.example(index) for index in range(min(max(SHEET, count), len(split)))]
    sheet = images(codec, [sequences[0] for sequences, _ in shown[:SHEET]])
    if sheet:
        return Sample(task=task, note=note, image=_png(sheet, [label for _, label in shown[:SHEET]]))
    texts = []
    for sequences, label in shown[:count]:
        texts.append("\n".join([f"label {label}", *codec.draw(sequences, data.source_facts)]))
    return Sample(task=task, note=note, texts=texts)


def _png(sheet: list[np.ndarray], labels: list[int]) -> str:
    """Draw images with their labels side by side, as a PNG in base64."""
    with TemporaryDirectory() as folder:
        path = contact_sheet(sheet, labels, Path(folder) / "sheet.png")
        return base64.b64encode(path.read_bytes()).decode()
