"""Numbers drawn from a bench record: medians, ratios, break-even lengths, time exponents."""

import math
import statistics
from dataclasses import dataclass

from lra.tools.bench.record import BenchCell, BenchPass, BenchRecord, PassName, cells_at, lengths_of

FUSED, MATH = "full fused", "full math"  # exact attention by its two kernels, always measured beside the others
MOST_FRACTION = 1.1  # of the rate of plain products; more is no rate of a method but a disturbed measurement
LRA_LENGTHS = (1024, 2048, 4096)  # Image and Pathfinder, ListOps, Text and Retrieval
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # that of a median over that of a mean, of normal values


@dataclass(frozen=True)
class Crossover:
    """The break-even length, from which a method stays at least as fast as fused exact attention; None: there is none.

    Both were measured at lengths from `first` to `last`. `low` and `high` are a 95 % interval; they are alike where
    turns are too few for one.
    """

    length: float | None
    low: float | None
    high: float | None
    first: int
    last: int

    def __str__(self) -> str:
        """`462 [440, 490]`; without the interval where nothing of it lies between the lengths."""
        shown, low, high = map(self._text, (self.length, self.low, self.high))
        if self.length is None:
            shown = f"none up to {self.last:,}"
        return shown if low == high else f"{shown} [{low}, {high}]"

    def _text(self, length: float | None) -> str:
        if length is None:
            return f"> {self.last:,}"
        return f"≤ {self.first:,}" if length <= self.first else f"{length:,.0f}"


def pass_of(cell: BenchCell | None, name: PassName) -> BenchPass | None:
    """Return a pass of a cell; None if it was not measured."""
    return cell.get(name) if cell else None


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


def points_of(record: BenchRecord, method: str, name: PassName) -> dict[int, BenchPass]:
    """Return a method's pass at each length where it was measured, in growing order."""
    measured = {length: pass_of(cells_at(record, length).get(method), name) for length in lengths_of(record)}
    return {length: cell for length, cell in measured.items() if cell is not None}


def crossover(record: BenchRecord, method: str, name: PassName) -> Crossover | None:
    """Find the length from which a method stays at least as fast as fused exact attention, with a 95 % interval.

    Between two measured lengths the logarithm of the ratio is interpolated along the logarithm of the length. The
    interval is where Student's interval of that logarithm, over the turns that both took together, contains 0. None if
    the two were measured together at fewer than two lengths.
    """
    points, fused = (points_of(record, each, name) for each in (method, FUSED))
    ratios = [(at, *_log_ratio(points[at], fused[at])) for at in points if at in fused]
    if len(ratios) < 2:
        return None
    sides = (-1, 0, 1) if all(margin is not None for *_, margin in ratios) else (0, 0, 0)
    low, length, high = (
        _crossing([(at, ratio + side * (margin or 0)) for at, ratio, margin in ratios]) for side in sides
    )
    return Crossover(length, low, high, first=ratios[0][0], last=ratios[-1][0])


def _log_ratio(measured: BenchPass, fused: BenchPass) -> tuple[float, float | None]:
    """Compute the median logarithm of the ratio in a turn, and half the width of its interval; None for one turn."""
    from scipy.special import stdtrit  # not scipy.stats, whose import is slow

    ratios = [math.log(own / exact) for own, exact in zip(measured["seconds"], fused["seconds"], strict=False)]
    if len(ratios) < 2:
        return ratios[0], None
    error = MEDIAN_ERROR * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return statistics.median(ratios), float(stdtrit(len(ratios) - 1, 0.975)) * error


def _crossing(ratios: list[tuple[int, float]]) -> float | None:
    """Interpolate from where on logarithms of ratios stay at most 0: the first length if always, None if never."""
    slower = [index for index, (_, ratio) in enumerate(ratios) if ratio > 0]
    if not slower:
        return float(ratios[0][0])
    if slower[-1] == len(ratios) - 1:
        return None
    (below, high), (above, low) = ratios[slower[-1]], ratios[slower[-1] + 1]
    return float(below * (above / below) ** (high / (high - low)))


def time_exponent(record: BenchRecord, method: str, name: PassName) -> float | None:
    """Return p of time ~ L^p between the two largest measured lengths; None for fewer than two."""
    points = list(points_of(record, method, name).items())
    if len(points) < 2:
        return None
    (low, before), (high, after) = points[-2:]
    return math.log(median_of(after) / median_of(before)) / math.log(high / low)


def product_share(measured: BenchPass) -> float | None:
    """Return the rate of a pass as a share of that of plain products of its shapes; None without products.

    None also where plain products took clearly longer than the pass: they are timed once, not in turns, so other work
    on the machine at that moment slows them alone.
    """
    share = measured["product_seconds"] / median_of(measured)
    return share if 0 < share <= MOST_FRACTION else None


def slower_at_lra_lengths(record: BenchRecord, name: PassName) -> dict[str, list[int]]:
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
