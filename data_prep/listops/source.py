"""ListOps: expressions and their values, from our generator, the benchmark's files or pickles."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from data_prep.archives import Tick
from data_prep.builder import Row, RowsBuilder
from data_prep.forms import GENERATED, names_of
from data_prep.left_out import beyond_size, left_out_facts
from data_prep.listops import tsv
from data_prep.listops.evaluation import check_length, checked_rows
from data_prep.listops.generator import generate
from data_prep.listops.symbols import LARGEST_ID, symbols_of, within_bounds
from data_prep.released_pickles import Pickles, is_pickle
from data_prep.source import Request, Source, determine_origin, evenly_spaced, locate
from lra.data.listops import END, VERSION, decode, encode
from lra.data.manifest import SPLITS
from lra.data.writer import Example
from lra.types import UserError

Expressions = Callable[[], Iterator[tuple[str, int]]]
NAMES = names_of("listops")
PICKLED = {"ids": 2_048, "padding": 48, "largest": LARGEST_ID}
BENCHMARK = {"train": 96_000, "dev": 2_000, "test": 2_000}


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


def open_source(request: Request) -> Source:
    """Open the source that the request names: the generator, the benchmark's three files, or pickles."""
    path = locate(request, NAMES, archive=None, size_hint="200 MB", generates="listops" in GENERATED)
    counts = {split: request.settings[split] for split in SPLITS}
    if path is None:
        origin, config = "generated", request.size
        facts = {"generator": "data_prep.listops.generator", **request.settings}
        rows = _drawn(request.settings, counts, request.tick)
    else:
        if is_pickle(path):
            config = f"{request.size}_pickle"
            pickles = Pickles.open(request, path, "listops", SPLITS, **PICKLED)
            rows_of_file = pickles.counts()
            origin, facts = pickles.origin(rows_of_file, BENCHMARK)
            symbols = symbols_of(pickles)
            if END not in symbols["train"]:
                facts["requires"] = {"listops_brackets": "dropped"}
            whole: dict[str, Expressions] = {
                split: partial(_unpickled, pickles, split, found) for split, found in symbols.items()
            }
        else:
            config = f"{request.size}_tsv"
            files = tsv.find(path, request.scratch, request.tick)
            rows_of_file = {split: tsv.count(file) for split, file in files.items()}
            # No checksum of the benchmark's files is published, so their origin is never `official`.
            origin, facts = determine_origin(request, path, (), rows_of_file, BENCHMARK, files=files.values())
            limits = {"max_length": request.settings["max_length"], "size": request.size}
            whole = {split: partial(tsv.read, file, **limits) for split, file in files.items()}
        chosen = {split: evenly_spaced(rows_of_file[split], counts[split]) for split in SPLITS}
        counts = {split: len(numbers) for split, numbers in chosen.items()}
        facts |= left_out_facts(beyond_size(request, rows_of_file, counts))
        rows = {split: partial(_chosen, part, set(chosen[split])) for split, part in whole.items()}
    named = {split: partial(_named, part) for split, part in rows.items()}
    return Source(
        origin=lambda: origin,
        facts=facts,
        make_builder=lambda folder: Listops(rows=named, settings=request.settings, config=config, data_dir=folder),
        encode=_encode,
        dtype=np.uint8,
        first_id=0,
        counts=counts,
    )


def _drawn(settings: Mapping[str, int], counts: dict[str, int], tick: Tick) -> dict[str, Expressions]:
    """Draw all splits together, so that no expression is in two of them; this needs 100 MB for the full size."""
    drawn = generate(settings["data_seed"], min_length=settings["min_length"], max_length=settings["max_length"])
    examples, total = [], sum(counts.values())
    for ids, value in itertools.islice(drawn, total):
        examples.append((ids, value))
        tick(len(examples), total)
    ends = dict(zip(counts, itertools.accumulate(counts.values()), strict=True))

    def rows(split: str) -> Iterator[tuple[str, int]]:
        for ids, value in examples[ends[split] - counts[split] : ends[split]]:
            yield decode(ids), value

    return {split: partial(rows, split) for split in counts}


def _unpickled(pickles: Pickles, split: str, symbols: np.ndarray) -> Iterator[tuple[str, int]]:
    """Yield expression and value of each row of a pickle, and check that the expression has, or may have, this value.

    `symbols` are those of the ids; none of them is the closing bracket if the file has none.
    """
    limits = {"max_length": pickles.request.settings["max_length"], "size": pickles.request.size}
    decoded = ((symbols[ids], label) for (ids,), label in pickles.rows(split))
    rows = (
        (f"{pickles.files[split]}, row {number}", decode(ids), ids, label)
        for number, (ids, label) in enumerate(decoded)
    )
    if END in symbols:
        yield from checked_rows(rows, **limits)
        return
    for location, source, ids, label in rows:
        check_length(ids, location, **limits)
        if not within_bounds(ids, label):
            raise UserError(
                f"{location}: no expression without its closing brackets has the value {label} and begins so"
            )
        yield source, label


def _chosen(rows: Expressions, numbers: set[int]) -> Iterator[tuple[str, int]]:
    """Yield the chosen rows of a file; all of its rows are checked."""
    return (row for number, row in enumerate(rows()) if number in numbers)


def _named(rows: Expressions) -> Iterator[Row]:
    for source, target in rows():
        yield {"source": source, "target": target}


def _encode(record: Row) -> Example:
    return [encode(record["source"])], int(record["target"])
