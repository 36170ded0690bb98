"""The tables of a bench in the layout of the Nyströmformer paper's Table 1: a row for each length, per instance."""

from __future__ import annotations

from lra.bench.record import PASS_TITLES, BenchCell, BenchRecord, cells_at, lengths_of
from lra.bench.summary import FUSED, MATH, median_of, pass_of
from lra.bench.tables import MEBIBYTE, ran_passes, significant, summary_table, title_of_bench
from lra.results.tables import MISSING, TextTable

NO_ROOM = "left out"


def bench_markdown(record: BenchRecord) -> str:
    """Write the tables of each pass, the summary and the reasons why cells were left out as Markdown."""
    tables = []
    for name in ran_passes(record):
        tables += [memory_and_time(record, name), advantage(record, name, MATH), advantage(record, name, FUSED)]
    return "\n".join(table.to_markdown() for table in (*tables, summary_table(record)))


def memory_and_time(record: BenchRecord, name: str) -> TextTable:
    """Build the table of MiB and milliseconds of one example, as the paper's Table 1."""
    batch = record["settings"]["batch"]

    def word(cell: BenchCell | None, _: dict[str, BenchCell]) -> str:
        measured = pass_of(cell, name)
        if measured is None:
            return NO_ROOM if cell and "left_out" in cell else MISSING
        memory, seconds = measured["peak_bytes"] / MEBIBYTE / batch, median_of(measured) / batch
        return f"{significant(memory)} / {significant(seconds * 1e3)}"

    title = f"{PASS_TITLES[name]}, MiB / ms per instance; {title_of_bench(record)}"
    reasons = [
        f"{cell['method']} at {cell['length']:,}: {cell['left_out']}" for cell in record["cells"] if "left_out" in cell
    ]
    return _by_length(record, title, word, reasons)


def advantage(record: BenchRecord, name: str, reference: str) -> TextTable:
    """Build the table of how many times less memory and time each method takes than exact attention by one kernel."""

    def word(cell: BenchCell | None, cells: dict[str, BenchCell]) -> str:
        mine, other = pass_of(cell, name), pass_of(cells.get(reference), name)
        if not mine or not other:
            return MISSING
        memory = f"{other['peak_bytes'] / mine['peak_bytes']:.1f}×" if mine["peak_bytes"] else MISSING
        return f"{memory} / {median_of(other) / median_of(mine):.2f}×"

    title = f"{PASS_TITLES[name]}: memory and time of {reference} as a multiple of each method's"
    return _by_length(record, title, word, ["Below 1×, a method needs more than exact attention."])


def _by_length(record: BenchRecord, title: str, word: object, notes: list[str]) -> TextTable:
    assert callable(word)
    names = [method["name"] for method in record["settings"]["methods"]]
    rows = []
    for length in lengths_of(record):
        cells = cells_at(record, length)
        rows.append([f"{length:,}", *(word(cells.get(name), cells) for name in names)])
    return TextTable(title=title, columns=("L", *names), rows=rows, notes=notes)
