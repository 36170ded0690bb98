"""What the blocks are made from: published records, and what commands print of them."""

import functools
import io
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from lra.cli import main
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.record import parse_record
from lra.runs.schema import Record
from lra.tables.cells import TableCell, make_rows
from lra.tools.bench.record import BenchRecord, read_bench

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "runs/published"
# These commits were put together with others before they were pushed, so nobody can look at them: to be measured again.
LOST = {
    "6a3463f37af1ac19fa670ac90b96d485aa4e7111": ("short_table.jsonl", "short_earlier.jsonl"),
    "13143a1cee11f1fba4cbe9870345bf3ef0331177": ("listops.jsonl",),
}


def records(*names: str) -> list[Record]:
    """The records of these published files."""
    files = [PUBLISHED / f"{name}.jsonl" for name in names]
    return [parse_record(line, file.name) for file in files for line in file.read_text().splitlines()]


def by_cell(name: str) -> dict[tuple[str, str, int], Record]:
    """The records of a published file by task, attention (or mixer) and seed."""
    return {(record.task, record.method, record.seed): record for record in records(name)}


def by_task(name: str) -> dict[str, list[Record]]:
    """The records of a published file by task, in the benchmark's order."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records(name):
        found[record.task].append(record)
    return {task: found[task] for task in in_benchmark_order(found)}


def cells(found: list[Record]) -> dict[str, TableCell]:
    """The cells of one task's rows of the accuracy table."""
    return {row.name: cell for row in make_rows(found) for cell in row.cells.values()}


def measurements(name: str) -> list[dict[str, Any]]:
    """The lines of a published file that are no records of runs."""
    return [json.loads(line) for line in (PUBLISHED / f"{name}.jsonl").read_text().splitlines()]


def bench(name: str) -> BenchRecord:
    """A published record of `lra bench attention`."""
    return read_bench(PUBLISHED / f"{name}.json")


def accuracy(record: Record) -> float:
    """The test accuracy of a run in percent."""
    return 100 * record.test_accuracy


@contextmanager
def runs_in(folder: Path) -> Iterator[None]:
    """Commands look for runs in this folder."""
    before = os.environ.get("LRA_RUNS_DIR")
    os.environ["LRA_RUNS_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["LRA_RUNS_DIR"]
        os.environ |= {} if before is None else {"LRA_RUNS_DIR": before}


@functools.cache
def printed(command: str) -> str:
    """What `lra COMMAND` prints as Markdown."""
    out = io.StringIO()
    with runs_in(PUBLISHED.parent), redirect_stdout(out):
        code = main([*command.split(), "format=markdown"])
    assert code == 0, f"lra {command} format=markdown"
    return out.getvalue()
