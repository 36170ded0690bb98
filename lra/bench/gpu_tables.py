"""Tables of `lra bench gpu`: what was measured beside what the work needs, and the hours of the table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lra.bench.ceiling import Ceiling, DeviceRates, ceiling
from lra.bench.gpu_record import GpuCell, GpuRecord, MeasuredStep
from lra.results.tables import MISSING, TextTable
from lra.training.counting import Work

GIB = 2**30
_COLUMNS = ("cell", "batch", "ceiling", "bound by", "eager", "harness", "compiled", "GiB", "parity", "hours")


def step_table(record: GpuRecord) -> TextTable:
    """Make the table of the cells; times of a step in milliseconds, the hours of a run by its faster form."""
    rates = DeviceRates(**record["rates"])
    settings = record["settings"]
    notes = [
        f"{settings['device']}, {settings['precision']}: {rates.flops_per_second / 1e12:,.2f} TFLOP/s of products,"
        f" {rates.bytes_per_second / 1e9:,.0f} GB/s of copies, {rates.launch_seconds * 1e6:.1f} µs for an operator",
        "ceiling: the most of what the counted products, memory traffic and launches of the eager step need at these"
        " rates; a step below it is served by caches, or by fused operators",
        *(
            f"left out: {cell['task']}/{cell['attention']} {what}: {why} (force=true tries again)"
            for cell in record["cells"]
            for what, why in cell.get("left_out", {}).items()
        ),
    ]
    rows = [_row(cell, rates) for cell in record["cells"]]
    optional = ("batch", "GiB", "harness", "bound by")
    return TextTable(title="A training step, milliseconds", columns=_COLUMNS, rows=rows, notes=notes, optional=optional)


def _row(cell: GpuCell, rates: DeviceRates) -> list[str]:
    eager, compiled = cell.get("eager"), cell.get("compiled")
    best = _best(cell)
    least = ceiling(Work(eager["flops"], eager["bytes"], eager["operators"]), rates) if eager else None
    return [
        f"{cell['task']}/{cell['attention']}",
        MISSING if best is None else _batch(best),
        _milliseconds(least.seconds) if least else MISSING,
        least.bound if least else MISSING,
        _bare(eager),
        _milliseconds(eager["harness_seconds"]) if eager else MISSING,
        _bare(compiled),
        f"{best['peak_bytes'] / GIB:.2f}" if best else MISSING,
        _parity(cell),
        f"{best['hours']:.2f}" if best else MISSING,
    ]


def _batch(step: MeasuredStep) -> str:
    parts = step["batch_parts"]
    return f"{step['batch_size']}" if parts == 1 else f"{parts} × {step['batch_size'] // parts}"


def _bare(step: MeasuredStep | None) -> str:
    return MISSING if step is None else _milliseconds(statistics.median(step["seconds"]))


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f}"


def _parity(cell: GpuCell) -> str:
    parity = cell.get("parity")
    if parity is None:
        return MISSING
    difference = "no number" if parity["difference"] is None else f"{parity['difference']:.1e}"
    return f"{difference} {'<' if parity['holds'] else 'NOT <'} {parity['tolerance']:.1e}"


def _best(cell: GpuCell) -> MeasuredStep | None:
    steps = [cell[form] for form in ("eager", "compiled") if form in cell]
    return min(steps, key=lambda step: step["hours"]) if steps else None


def lines_of_hours(cells: Sequence[GpuCell], *, of: int, seeds: int) -> list[str]:
    """Word the hours of the whole table: of those cells that were measured, each with all seeds.

    Args:
        cells: what was measured of the table's cells.
        of: the number of cells of the table, without seeds.
        seeds: runs of each cell.
    """
    measured = [cell for cell in cells if _best(cell)]
    lines = []
    for form in ("eager", "compiled"):
        hours = [cell[form]["hours"] for cell in measured if form in cell]
        if hours:
            lines.append(f"{form}: {len(hours)} of {of} cells × {seeds} seeds take {sum(hours) * seeds:,.1f} hours")
    best = sum(step["hours"] for step in map(_best, measured) if step) * seeds
    for cell in measured:
        together = cell.get("together", {})
        alone = together.get("1")
        lines += [
            f"{number} processes at a time: {rate / alone:.2f} times the steps of one ({cell['task']}/"
            f"{cell['attention']}), so about {best * alone / rate:,.1f} hours: lra table run workers={number}"
            for number, rate in together.items()
            if alone and number != "1"
        ]
    return lines


def prediction_table(device: str, works: Sequence[tuple[str, int, Work]], rates: dict[str, DeviceRates]) -> TextTable:
    """Make the table of what steps should take by a data sheet.

    Args:
        device: name of the device.
        works: name, batch size and counted work of each cell.
        rates: the device's rates by precision, one of them `32-true`.
    """
    rows = [_predicted(name, batch, work, rates) for name, batch, work in works]
    columns = ("cell", "batch", "launches", "GFLOP", "GB", "launches ms", "traffic ms")
    products = tuple(f"{precision} ms" for precision in rates)
    return TextTable(
        title=f"Predicted, not measured: a float32 step on {device}",
        columns=(*columns, *products, "eager ms", "in a graph ms", "bound by"),
        rows=rows,
    )


def _predicted(name: str, batch: int, work: Work, rates: dict[str, DeviceRates]) -> list[str]:
    least: dict[str, Ceiling] = {precision: ceiling(work, each) for precision, each in rates.items()}
    exact = least["32-true"]
    graph = max(exact.products, exact.traffic)
    return [
        name,
        str(batch),
        f"{work.operators:,}",
        f"{work.flops / 1e9:,.0f}",
        f"{work.bytes / 1e9:,.1f}",
        f"{exact.launches * 1e3:.1f}",
        f"{exact.traffic * 1e3:.1f}",
        *(f"{each.products * 1e3:.1f}" for each in least.values()),
        f"{exact.seconds * 1e3:.1f}",
        f"{graph * 1e3:.1f}",
        f"{exact.bound}, then {'products' if exact.products > exact.traffic else 'traffic'}"
        if exact.bound == "launches"
        else exact.bound,
    ]
