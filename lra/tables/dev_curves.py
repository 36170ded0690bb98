"""What the dev curves of runs tell: when each converges, and what equal cost reaches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lra.base.text import MISSING
from lra.runs.convergence import (
    central_value,
    convergence_step,
    dev_converged,
    has_judged_curve,
    on_both_sides,
    seeds_text,
)
from lra.runs.schema import DevCurve, Record
from lra.tables.cells import make_rows

EQUAL_TIME, EQUAL_FLOPS = "dev at equal time", "dev at equal FLOPs"  # columns


def dev_curves(records: list[Record]) -> dict[str, dict[int, DevCurve]]:
    """The curves of each row, by its name and by seed; records of older versions have none."""
    curves = {
        row.name: {record.seed: record.dev_curve for record in row.records if record.dev_curve is not None}
        for row in make_rows(records)
    }
    return {name: seeds for name, seeds in curves.items() if seeds}


def _passes(curve: DevCurve) -> list[tuple[int, float]]:
    return list(zip(curve["step"], curve["accuracy"], strict=True))


def convergence_notes(records: list[Record]) -> list[str]:
    """One note: how many seeds of each row converged, and after how many steps.

    Records without a dev curve or without the number of dev examples are not counted; no note if there are no others.
    """
    lines = []
    for row in make_rows(records):
        members = [record for record in row.records if has_judged_curve(record)]
        steps = sorted(step for record in members if (step := convergence_step(record)) is not None)
        at = f" (step {', '.join(f'{step:,}' for step in steps)})" if steps else ""
        if members:
            lines.append(f"{row.name} {len(steps)} of {len(members)}{at}")
    if not lines:
        return []
    return [
        "Convergence step of each seed (the first dev pass from which on all are converged, up to the best one):"
        f" {'; '.join(lines)}."
    ]


@dataclass(frozen=True, kw_only=True)
class EqualCost:
    """Best dev accuracies within a budget.

    Attributes:
        budget: the cost of all steps of `cheapest`, in seconds or FLOPs.
        accuracies: in percent, of each seed; without rows that had no dev pass by then.
        converged: number of seeds of each row that had converged by then; empty if that is not known.
    """

    budget: float
    cheapest: str
    accuracies: Mapping[str, list[float]]
    converged: Mapping[str, int] = field(default_factory=dict)

    def value(self, name: str) -> float | None:
        """The number that stands for a row's seeds: the mean, or the median where only some had converged."""
        return central_value(self.accuracies[name], self.converged.get(name, 0)) if name in self.accuracies else None

    def cell(self, name: str) -> str:
        """A row's seeds: `31.20 ± 0.40`, or `50.25 [50.25, 90.60]` where only some had converged."""
        if name not in self.accuracies:
            return MISSING
        return seeds_text(self.accuracies[name], self.converged.get(name, 0))

    @property
    def has_rows_on_both_sides(self) -> bool:
        """Whether only some seeds of a row had converged by then."""
        return any(on_both_sides(count, len(self.accuracies[name])) for name, count in self.converged.items())


def at_equal_cost(
    curves: Mapping[str, Mapping[int, DevCurve]],
    step_costs: Mapping[str, float],
    *,
    like: Record | None = None,
    before: Mapping[str, float] | None = None,
) -> EqualCost | None:
    """Read from the dev curves of each row, by seed, what was reached at the cost of the cheapest row.

    `step_costs` has the cost of a training step of each row, `before` the cost of its pretraining, if it has one.
    Between two dev passes the earlier one counts. `like`, a record of the same task, size and data, says which
    accuracies are those of converged runs. None for fewer than two rows that have both a curve and a cost.
    """
    before = before or {}
    ends = {
        name: before.get(name, 0.0) + step_costs[name] * max(curve["step"][-1] for curve in seeds.values())
        for name, seeds in curves.items()
        if name in step_costs and all(curve["step"] for curve in seeds.values())
    }
    if len(ends) < 2:
        return None
    cheapest = min(ends, key=ends.__getitem__)
    reached = {}
    for name in ends:
        last = (ends[cheapest] - before.get(name, 0.0)) / step_costs[name] * (1 + 1e-9)
        by_then = [[accuracy for step, accuracy in _passes(curve) if step <= last] for curve in curves[name].values()]
        if all(by_then):
            reached[name] = [100 * max(accuracies) for accuracies in by_then]
    converged = {}
    if like is not None and has_judged_curve(like):
        for name, accuracies in reached.items():
            converged[name] = sum(dev_converged(accuracy / 100, like) for accuracy in accuracies)
    return EqualCost(budget=ends[cheapest], cheapest=cheapest, accuracies=reached, converged=converged)
