"""What the dev curves of runs tell: when each converges, its place among published runs, what equal cost reaches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lra.base.text import MISSING
from lra.results.convergence import (
    central_value,
    convergence_step,
    dev_converged,
    has_judged_curve,
    on_both_sides,
    seeds_text,
    step_of_curve,
)
from lra.results.variants import group_by_variant
from lra.runs.collect import collect
from lra.runs.groups import PUBLISHED_FOLDER
from lra.runs.schema import DevCurve, Record

NO_CURVE: DevCurve = {"step": [], "accuracy": []}
SECONDS, FLOPS = "dev at equal time", "dev at equal FLOPs"  # columns


def dev_curves(records: list[Record]) -> dict[str, dict[int, DevCurve]]:
    """The curves of each variant, by seed; records of older versions have none."""
    curves = {
        name: {
            record["identity"]["seed"]: record["outcome"]["dev_curve"]
            for record in members
            if "dev_curve" in record["outcome"]
        }
        for name, members in group_by_variant(records).items()
    }
    return {name: seeds for name, seeds in curves.items() if seeds}


def _passes(curve: DevCurve) -> list[tuple[int, float]]:
    return list(zip(curve["step"], curve["accuracy"], strict=True))


def convergence_notes(records: list[Record]) -> list[str]:
    """One note: how many seeds of each variant converged, and after how many steps.

    Records without a dev curve or without the number of dev examples are not counted; no note if there are no others.
    """
    lines = []
    for name, of_variant in group_by_variant(records).items():
        members = [record for record in of_variant if has_judged_curve(record)]
        steps = sorted(step for record in members if (step := convergence_step(record)) is not None)
        at = f" (step {', '.join(f'{step:,}' for step in steps)})" if steps else ""
        if members:
            lines.append(f"{name} {len(steps)} of {len(members)}{at}")
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
    curves: Mapping[str, Mapping[int, DevCurve]], step_costs: Mapping[str, float], *, like: Record | None = None
) -> EqualCost | None:
    """Read from the dev curves of each row, by seed, what was reached at the cost of the cheapest row.

    `step_costs` has the cost of a training step of each row. Between two dev passes the earlier one counts. `like`, a
    record of the same task, size and data, says which accuracies are those of converged runs. None for fewer than two
    rows that have both a curve and a cost.
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
        by_then = [[accuracy for step, accuracy in _passes(curve) if step <= last] for curve in curves[name].values()]
        if all(by_then):
            reached[name] = [100 * max(accuracies) for accuracies in by_then]
    converged = {}
    if like is not None and has_judged_curve(like):
        for name, accuracies in reached.items():
            converged[name] = sum(dev_converged(accuracy / 100, like) for accuracy in accuracies)
    return EqualCost(budget=ends[cheapest], cheapest=cheapest, accuracies=reached, converged=converged)


def published_curves(runs: Path, settings_hash: str = "") -> list[Record]:
    """Read the published records with a dev curve below the folder of runs: all, or those of settings with a hash."""
    published = collect(runs / PUBLISHED_FOLDER, containing=settings_hash).records
    return [record for record in published if has_judged_curve(record)]


def references_of(
    published: Iterable[Record], settings_hash: str, data_sha256: Mapping[str, str], seed: int
) -> list[Record]:
    """Choose the published runs with the same settings and data, and other seeds."""
    same = [record for record in published if record["provenance"]["config_hash"] == settings_hash]
    of_data = [record for record in same if record["provenance"]["data_sha256"] == data_sha256]
    return [record for record in of_data if record["identity"]["seed"] != seed]


def place_among(curve: DevCurve, references: Sequence[Record]) -> str:
    """Word where the dev passes of a run, finished or not, are among its reference seeds, by when each converged.

    Empty without reference seeds or without a dev pass.
    """
    if not references or not curve["step"]:
        return ""
    example, last = references[0], curve["step"][-1]
    own = step_of_curve(curve, example)
    steps = [step for record in references if (step := convergence_step(record)) is not None]
    before = [step for step in steps if step <= (last if own is None else own)]
    counted = f"{len(before)} of {len(references)} reference seeds had"
    if own is not None:
        return f"converged at step {own:,}; {counted} by then"
    by = f" by step {max(before):,}; this run has not" if before else "; nor has this run"
    return f"{counted} converged{by} at {last:,}"


def place_of(record: Record, published: Iterable[Record]) -> str:
    """Place a finished run, in words."""
    provenance = record["provenance"]
    references = references_of(
        published, provenance["config_hash"], provenance["data_sha256"], record["identity"]["seed"]
    )
    return place_among(record["outcome"].get("dev_curve", NO_CURVE), references)
