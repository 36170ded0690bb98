"""Numbers drawn from a bench record: medians, ratios, crossover lengths, time exponents."""

import math
import statistics
from dataclasses import dataclass

from lra.bench.record import BenchCell, BenchPass, BenchRecord, cells_at, lengths_of

FUSED, MATH = "full fused", "full math"  # exact attention by its two kernels, always measured beside the others
MOST_FRACTION = 1.1  # of the rate of plain products; more is no rate of a method but a disturbed measurement
LRA_LENGTHS = (1024, 2048, 4096)  # Image and Pathfinder, ListOps, Text and Retrieval


@dataclass(frozen=True)
class Crossover:
    """The interpolated length from which a method is at least as fast as fused exact attention; None: there is none.

    Both were measured at lengths from `first` to `last`.
    """

    length: float | None
    first: int
    last: int

    def __str__(self) -> str:
        if self.length is None:
            return f"none up to {self.last:,}"
        return f"≤ {self.first:,}" if self.length <= self.first else f"{self.length:,.0f}"


def pass_of(cell: BenchCell | None, name: str) -> BenchPass | None:
    """Return a pass of a cell, `forward` or `both`; None if it was not measured."""
    if cell is None:
        return None
    return cell.get("forward") if name == "forward" else cell.get("both")


def median_of(measured: BenchPass) -> float:
    """Return the median of the turns, in seconds."""
    return statistics.median(measured["seconds"])


def quartiles(measured: BenchPass) -> tuple[float, float]:
    """Return the first and third quartile of the turns, in seconds; of one turn its own seconds."""
    seconds = measured["seconds"]
    if len(seconds) == 1:
        return seconds[0], seconds[0]
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return low, high


def points_of(record: BenchRecord, method: str, name: str) -> dict[int, BenchPass]:
    """Return a method's pass at each length where it was measured, in growing order."""
    measured = {length: pass_of(cells_at(record, length).get(method), name) for length in lengths_of(record)}
    return {length: cell for length, cell in measured.items() if cell is not None}


def crossover(record: BenchRecord, method: str, name: str) -> Crossover | None:
    """Find the length from which a method stays at least as fast as fused exact attention.

    Between two measured lengths the logarithm of the ratio is interpolated along the logarithm of the length. None if
    the two were measured together at fewer than two lengths.
    """
    points, fused = (points_of(record, each, name) for each in (method, FUSED))
    ratios = [(length, median_of(points[length]) / median_of(fused[length])) for length in points if length in fused]
    if len(ratios) < 2:
        return None
    first, last = ratios[0][0], ratios[-1][0]
    slower = [place for place, (_, ratio) in enumerate(ratios) if ratio > 1]
    if not slower:
        return Crossover(float(first), first, last)
    if slower[-1] == len(ratios) - 1:
        return Crossover(None, first, last)
    (below, high), (above, low) = ratios[slower[-1]], ratios[slower[-1] + 1]
    fraction = math.log(high) / (math.log(high) - math.log(low))
    return Crossover(below * (above / below) ** fraction, first, last)


def time_exponent(record: BenchRecord, method: str, name: str) -> tuple[float, int, int] | None:
    """Return p of time ~ L^p between the two largest measured lengths, and these lengths; None for fewer than two."""
    points = list(points_of(record, method, name).items())
    if len(points) < 2:
        return None
    (low, before), (high, after) = points[-2:]
    return math.log(median_of(after) / median_of(before)) / math.log(high / low), low, high


def product_share(measured: BenchPass) -> float | None:
    """Return the rate of a pass as a share of that of plain products of its shapes; None without products.

    None also where plain products took clearly longer than the pass: they are timed once, not in turns, so other work
    on the machine at that moment slows them alone.
    """
    share = measured["product_seconds"] / median_of(measured)
    return share if 0 < share <= MOST_FRACTION else None


def slower_at_lra_lengths(record: BenchRecord, name: str) -> dict[str, list[int]]:
    """Return for each method the lengths of the benchmark's tasks at which it is slower than fused exact attention."""
    slower: dict[str, list[int]] = {}
    for length in LRA_LENGTHS:
        cells = cells_at(record, length)
        fused = pass_of(cells.get(FUSED), name)
        for method, cell in cells.items():
            measured = pass_of(cell, name)
            if measured and fused and median_of(measured) > median_of(fused):
                slower.setdefault(method, []).append(length)
    return {method: lengths for method, lengths in slower.items() if method not in (FUSED, MATH)}
