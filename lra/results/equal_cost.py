"""Dev accuracy at equal cost: what each row had reached when the whole training of the cheapest row was paid for."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from lra.results.statistics import sample_std
from lra.results.tables import MISSING
from lra.runs.schema import DevCurve

SECONDS, FLOPS = "dev at equal time", "dev at equal FLOPs"  # columns


@dataclass(frozen=True, kw_only=True)
class EqualCost:
    """Best dev accuracies within a budget.

    Attributes:
        budget: the cost of all steps of `cheapest`, in seconds or FLOPs.
        accuracies: in percent, of each seed; without rows that had no dev pass by then.
    """

    budget: float
    cheapest: str
    accuracies: Mapping[str, list[float]]

    def mean(self, name: str) -> float | None:
        """The mean over a row's seeds."""
        return statistics.fmean(self.accuracies[name]) if name in self.accuracies else None

    def cell(self, name: str) -> str:
        """A row's mean and standard deviation over its seeds: `31.20 ± 0.40`."""
        mean = self.mean(name)
        std = None if mean is None else sample_std(self.accuracies[name])
        return MISSING if mean is None else f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}")


def at_equal_cost(curves: Mapping[str, Mapping[int, DevCurve]], step_costs: Mapping[str, float]) -> EqualCost | None:
    """Read from the dev curves of each row, by seed, what was reached at the cost of the cheapest row.

    `step_costs` has the cost of a training step of each row. Between two dev passes the earlier one counts. None for
    fewer than two rows that have both.
    """
    ends = {
        name: step_costs[name] * max(curve["step"][-1] for curve in seeds.values())
        for name, seeds in curves.items()
        if name in step_costs and all(curve["step"] for curve in seeds.values())
    }
    if len(ends) < 2:
        return None
    cheapest = min(ends, key=ends.__getitem__)
    reached = {}
    for name in ends:
        last = ends[cheapest] / step_costs[name] * (1 + 1e-9)
        passes = [zip(curve["step"], curve["accuracy"], strict=True) for curve in curves[name].values()]
        by_then = [[accuracy for step, accuracy in of_seed if step <= last] for of_seed in passes]
        if all(by_then):
            reached[name] = [100 * max(accuracies) for accuracies in by_then]
    return EqualCost(budget=ends[cheapest], cheapest=cheapest, accuracies=reached)
