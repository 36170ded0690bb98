"""The tables of a bench for a terminal and for CSV: one for each length, and a summary of the methods."""

from __future__ import annotations

from lra.bench.record import PASS_TITLES, PASSES, BenchCell, BenchPass, BenchRecord, cells_at, lengths_of
from lra.bench.summary import (
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
from lra.results.tables import MISSING, TextTable, number

MEBIBYTE = 2**20


def title_of_bench(record: BenchRecord) -> str:
    """Word the conditions that the numbers hold under."""
    settings = record["settings"]
    return (
        f"batch {settings['batch']}, {settings['heads']} heads × {settings['head_dim']}, {settings['dtype']},"
        f" {settings['device']}"
    )


def ran_passes(record: BenchRecord) -> tuple[str, ...]:
    """Name the passes of the record: `forward`, or also `both`."""
    return PASSES if record["settings"]["backward"] else PASSES[:1]


def last_pass(record: BenchRecord) -> str:
    """Name the pass that a verdict is about: forward + backward, if it was measured."""
    return ran_passes(record)[-1]


def length_table(record: BenchRecord, length: int) -> TextTable:
    """Build the table of one length: time, memory and ratios of each method; the batch's numbers."""
    cells, passes, last = cells_at(record, length), ran_passes(record), last_pass(record)
    columns = ("method", *(f"{PASS_TITLES[name]} ms" for name in passes), "quartiles", "MiB", "/ fused", "/ math")
    rows, numbers = [], []
    for name, cell in cells.items():
        rows.append(
            [
                name,
                *(_milliseconds(pass_of(cell, each)) for each in passes),
                _spread(pass_of(cell, last)),
                _mebibytes(pass_of(cell, last)),
                *(ratio(cell, cells.get(reference), last) for reference in (FUSED, MATH)),
            ]
        )
        numbers += [_numbers(cell, each) for each in passes]
    return TextTable(
        title=f"L = {length:,}: {title_of_bench(record)}",
        columns=columns,
        rows=rows,
        notes=[f"{name} at {length:,}: {cell['left_out']}" for name, cell in cells.items() if "left_out" in cell],
        optional=("quartiles",),
        numbers=numbers,
    )


def ratio(cell: BenchCell | None, reference: BenchCell | None, name: str) -> str:
    """Word how many times as long as the reference a method takes."""
    mine, other = pass_of(cell, name), pass_of(reference, name)
    return f"{median_of(mine) / median_of(other):.2f}×" if mine and other else MISSING


def summary_table(record: BenchRecord) -> TextTable:
    """Build the table of the methods: crossover, exponent, and work at the largest length measured."""
    last, rows = last_pass(record), []
    for method in record["settings"]["methods"]:
        name = method["name"]
        points = list(points_of(record, name, last).items())
        exponent, crossing = time_exponent(record, name, last), crossover(record, name, last)
        share = product_share(points[-1][1]) if points else None
        rows.append(
            [
                name,
                MISSING if crossing is None or name == FUSED else str(crossing),
                number(exponent and exponent[0]),
                f"{points[-1][1]['flops'] / 1e9:,.1f} at {points[-1][0]:,}" if points else MISSING,
                MISSING if share is None else f"{share:.0%}",
            ]
        )
    columns = ("method", "crossover", "exponent", "GFLOP", "of GEMM rate")
    return TextTable(title=f"Summary of {PASS_TITLES[last]}", columns=columns, rows=rows, notes=notes_of(record))


def parity_table(record: BenchRecord) -> TextTable:
    """Build the table of the peers' outputs against ours."""
    rows = [
        [
            each["peer"],
            each.get("ours", MISSING),
            f"{each['error']:.1e}" if "error" in each else f"not the same: {each.get('apart', '')}",
        ]
        for each in record["parity"]
    ]
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
    kinds = {method["kind"] for method in settings["methods"]}
    inside = ["Mixers contain their projections; attentions are measured without."] if "mixer" in kinds else []
    return [
        *verdicts,
        f"Medians of up to {settings['repeats']} turns of the whole batch; no padding, no dropout; attentions on"
        f" {form}. MiB: peak beyond inputs and parameters, outputs and gradients included.",
        *inside,
        "crossover: length from which a method stays at least as fast as fused full, interpolated between measured"
        " lengths on logarithmic axes. exponent: of time between the two largest lengths. of GEMM rate: the time"
        " that plain matrix products of the same shapes take, as a share of the method's.",
    ]


def _milliseconds(measured: BenchPass | None) -> str:
    return MISSING if measured is None else significant(median_of(measured) * 1e3)


def _spread(measured: BenchPass | None) -> str:
    return MISSING if measured is None else "–".join(significant(side * 1e3) for side in quartiles(measured))


def _mebibytes(measured: BenchPass | None) -> str:
    return MISSING if measured is None else significant(measured["peak_bytes"] / MEBIBYTE)


def significant(value: float) -> str:
    """Write a number with at most three significant digits, and no exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _numbers(cell: BenchCell, name: str) -> dict[str, object]:
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
    }


def csv_table(record: BenchRecord) -> TextTable:
    """Build the table whose CSV has a line for each pass of each cell."""
    tables = [length_table(record, length) for length in lengths_of(record)]
    numbers = [line for table in tables for line in table.numbers]
    return TextTable(title=title_of_bench(record), columns=("length",), rows=[], numbers=numbers)
