"""The tables of a bench: one for each length and a summary for a terminal; all of it as CSV; the paper's layout.

In that of the Nyströmformer paper's Table 1, a row is a length, and the numbers are of one example.
"""

from collections.abc import Callable

from lra.base.text import MISSING, number
from lra.terminal.text_table import TextTable
from lra.tools.bench.record import PASS_TITLES, PASSES, BenchCell, BenchRecord, PassName, cells_at, lengths_of
from lra.tools.bench.summary import (
    FUSED,
    MATH,
    crossover,
    median_of,
    pass_of,
    points_of,
    product_share,
    quartiles,
    slower_at_lra_lengths,
    time_exponent,
)

MEBIBYTE = 2**20
NO_ROOM = "left out"


def title_of_bench(record: BenchRecord) -> str:
    """Word the conditions that the numbers hold under."""
    settings = record["settings"]
    return (
        f"batch {settings['batch']}, {settings['heads']} heads × {settings['head_dim']}, {settings['dtype']},"
        f" {settings['device']}"
    )


def bench_tables(record: BenchRecord) -> list[TextTable]:
    """Build the tables for a terminal."""
    parity = [parity_table(record)] if record["parity"] else []
    return [*parity, *(length_table(record, length) for length in lengths_of(record)), summary_table(record)]


def ran_passes(record: BenchRecord) -> tuple[PassName, ...]:
    """Name the passes of the record: `forward`, or also `both`."""
    return PASSES if record["settings"]["backward"] else PASSES[:1]


def length_table(record: BenchRecord, length: int) -> TextTable:
    """Build the table of one length: time, memory and ratios of each method; the batch's numbers."""
    cells, passes = cells_at(record, length), ran_passes(record)
    last = passes[-1]  # forward + backward, if it was measured
    heads = [f"{PASS_TITLES[name]} ms" for name in passes]
    columns = ("method", *heads, "quartiles", "tokens/s", "MiB", "/ fused", "/ math")
    rows = []
    for name, cell in cells.items():
        times, measured = [pass_of(cell, each) for each in passes], pass_of(cell, last)
        rows.append(
            [
                name,
                *(significant(median_of(each) * 1e3) if each else MISSING for each in times),
                "–".join(significant(side * 1e3) for side in quartiles(measured)) if measured else MISSING,
                significant(record["settings"]["batch"] * length / median_of(measured)) if measured else MISSING,
                significant(measured["peak_bytes"] / MEBIBYTE) if measured else MISSING,
                *(ratio(cell, cells.get(reference), last) for reference in (FUSED, MATH)),
            ]
        )
    return TextTable(
        title=f"L = {length:,}: {title_of_bench(record)}",
        columns=columns,
        rows=rows,
        notes=[f"{name} at {length:,}: {cell['left_out']}" for name, cell in cells.items() if "left_out" in cell],
        optional=("quartiles", "tokens/s"),
    )


def ratio(cell: BenchCell | None, reference: BenchCell | None, name: PassName) -> str:
    """Word how many times as long as the reference a method takes."""
    measured, exact = pass_of(cell, name), pass_of(reference, name)
    return f"{median_of(measured) / median_of(exact):.2f}×" if measured and exact else MISSING


def summary_table(record: BenchRecord) -> TextTable:
    """Build the table of the methods: crossover, exponent, and work at the largest length measured."""
    last, rows = ran_passes(record)[-1], []
    for method in record["settings"]["methods"]:
        name = method["name"]
        points = list(points_of(record, name, last).items())
        exponent, crossing = time_exponent(record, name, last), crossover(record, name, last)
        share = product_share(points[-1][1]) if points else None
        crossed = MISSING if crossing is None or name == FUSED else str(crossing)
        work = f"{points[-1][1]['flops'] / 1e9:,.1f} at {points[-1][0]:,}" if points else MISSING
        of_products = MISSING if share is None else f"{share:.0%}"
        rows.append([name, crossed, number(exponent), work, of_products])
    columns = ("method", "crossover", "exponent", "GFLOP", "of GEMM rate")
    return TextTable(title=f"Summary of {PASS_TITLES[last]}", columns=columns, rows=rows, notes=notes_of(record))


def parity_table(record: BenchRecord) -> TextTable:
    """Build the table of the peers' outputs against ours."""
    rows = []
    for each in record["parity"]:
        error = f"{each['error']:.1e}" if "error" in each else f"not the same: {each.get('apart', '')}"
        rows.append([each["peer"], each.get("ours", MISSING), error])
    notes = ["Largest error of the output, relative to its largest number; float64, the same weights, no projections."]
    columns = ("peer", "ours", "error")
    return TextTable(title="Outputs of other packages", columns=columns, rows=rows, notes=notes, prose=columns)


def notes_of(record: BenchRecord) -> list[str]:
    """Word what the numbers mean, and which methods are slower than fused full at the benchmark's lengths."""
    settings = record["settings"]
    verdicts = [
        f"Slower than fused full in {PASS_TITLES[name]} at L = {', '.join(f'{at:,}' for at in lengths)}: {method}."
        for name in ran_passes(record)
        for method, lengths in slower_at_lra_lengths(record, name).items()
    ]
    form = "packed tokens, as the encoder on a CPU" if settings["packed"] else "the padded form"
    has_mixers = any(method["kind"] == "mixer" for method in settings["methods"])
    projections = ["Mixers contain their projections; attentions are measured without."] if has_mixers else []
    return [
        *verdicts,
        f"Medians of up to {settings['repeats']} turns of the whole batch; no padding, no dropout; attentions on"
        f" {form}. MiB: peak beyond inputs and parameters, outputs and gradients included.",
        *projections,
        "crossover: break-even length, from which a method stays at least as fast as fused full, interpolated between"
        " measured lengths on logarithmic axes [95 % interval over turns]. exponent: of time between the two largest"
        " lengths. of GEMM rate: the time that plain matrix products of the same shapes take, as a share of the"
        " method's.",
    ]


def significant(value: float) -> str:
    """Write a number with at most three significant digits, and no exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _csv_row(cell: BenchCell, name: PassName, batch: int) -> dict[str, object]:
    measured = pass_of(cell, name)
    low, high = quartiles(measured) if measured else (None, None)
    return {
        "length": cell["length"],
        "method": cell["method"],
        "pass": PASS_TITLES[name],
        "left_out": "" if measured else cell.get("left_out", ""),
        "median_seconds": measured and median_of(measured),
        "quartile_1_seconds": low,
        "quartile_3_seconds": high,
        "turns": measured and len(measured["seconds"]),
        "peak_bytes": measured and measured["peak_bytes"],
        "flops": measured and measured["flops"],
        "product_seconds": measured and measured["product_seconds"],
        "tokens_per_second": measured and batch * cell["length"] / median_of(measured),
    }


def csv_table(record: BenchRecord) -> TextTable:
    """Build the table whose CSV has a line for each pass of each cell."""
    csv_rows = [
        _csv_row(cell, name, record["settings"]["batch"])
        for length in lengths_of(record)
        for cell in cells_at(record, length).values()
        for name in ran_passes(record)
    ]
    return TextTable(title=title_of_bench(record), columns=("length",), rows=[], csv_rows=csv_rows)


def bench_markdown(record: BenchRecord) -> str:
    """Write the tables of each pass, the summary and the reasons why cells were left out as Markdown."""
    tables = []
    for name in ran_passes(record):
        tables += [memory_and_time(record, name), advantage(record, name, MATH), advantage(record, name, FUSED)]
    return "\n".join(table.to_markdown() for table in (*tables, summary_table(record)))


def memory_and_time(record: BenchRecord, name: PassName) -> TextTable:
    """Build the table of MiB and milliseconds of one example, as the paper's Table 1."""
    batch = record["settings"]["batch"]

    def entry(cell: BenchCell | None, _: dict[str, BenchCell]) -> str:
        measured = pass_of(cell, name)
        if measured is None:
            return NO_ROOM if cell and "left_out" in cell else MISSING
        memory, seconds = measured["peak_bytes"] / MEBIBYTE / batch, median_of(measured) / batch
        return f"{significant(memory)} / {significant(seconds * 1e3)}"

    title = f"{PASS_TITLES[name]}, MiB / ms per instance; {title_of_bench(record)}"
    left_out = [cell for cell in record["cells"] if "left_out" in cell]
    reasons = [f"{cell['method']} at {cell['length']:,}: {cell['left_out']}" for cell in left_out]
    return _by_length(record, title, entry, reasons)


def advantage(record: BenchRecord, name: PassName, reference: str) -> TextTable:
    """Build the table of how many times less memory and time each method takes than exact attention by one kernel."""

    def entry(cell: BenchCell | None, cells: dict[str, BenchCell]) -> str:
        measured, exact = pass_of(cell, name), pass_of(cells.get(reference), name)
        if not measured or not exact:
            return MISSING
        memory = f"{exact['peak_bytes'] / measured['peak_bytes']:.1f}×" if measured["peak_bytes"] else MISSING
        return f"{memory} / {median_of(exact) / median_of(measured):.2f}×"

    title = f"{PASS_TITLES[name]}: memory and time of {reference} as a multiple of each method's"
    return _by_length(record, title, entry, ["Below 1×, a method needs more than exact attention."])


def _by_length(
    record: BenchRecord, title: str, entry: Callable[[BenchCell | None, dict[str, BenchCell]], str], notes: list[str]
) -> TextTable:
    names = [method["name"] for method in record["settings"]["methods"]]
    rows = []
    for length in lengths_of(record):
        cells = cells_at(record, length)
        rows.append([f"{length:,}", *(entry(cells.get(name), cells) for name in names)])
    return TextTable(title=title, columns=("L", *names), rows=rows, notes=notes)
