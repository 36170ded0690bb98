"""The plateau that runs begin on: they guess the majority class, and leave it at a step that depends on the seed."""

from __future__ import annotations

from collections.abc import Iterable

from lra.results.schema import DevCurve, Outcome, Record
from lra.results.statistics import converged
from lra.results.variants import group_by_variant


def dev_curve(rows: Iterable[dict[str, float]]) -> DevCurve:
    """The dev passes among the rows of a `metrics.csv`."""
    passes = [row for row in rows if "dev/accuracy" in row]
    return {"step": [int(row["step"]) for row in passes], "accuracy": [row["dev/accuracy"] for row in passes]}


def dev_curves(records: list[Record]) -> dict[str, list[DevCurve]]:
    """The curves of each variant's seeds; records of older versions have none."""
    return {name: [outcome["dev_curve"] for outcome in seeds] for name, seeds in _with_curve(records).items()}


def _with_curve(records: list[Record]) -> dict[str, list[Outcome]]:
    """The outcomes that have a dev curve, by variant."""
    by_variant = {
        name: [record["outcome"] for record in members if "dev_curve" in record["outcome"]]
        for name, members in group_by_variant(records).items()
    }
    return {name: outcomes for name, outcomes in by_variant.items() if outcomes}


def leaving_step(outcome: Outcome) -> int | None:
    """The step of the first dev pass from which on all are clear of the majority class.

    Clear is more than three standard errors above it, as for `converged`; its rate is that of the test split.

    Returns:
        None for a run whose last dev pass is not clear of it, and for a record without `dev_curve` or `dev_examples`.
    """
    if "dev_curve" not in outcome or "dev_examples" not in outcome:
        return None
    left = None
    passes = zip(outcome["dev_curve"]["step"], outcome["dev_curve"]["accuracy"], strict=True)
    for step, accuracy in passes:
        if not converged(accuracy, outcome["majority_rate"], outcome["dev_examples"]):
            left = None
        elif left is None:
            left = step
    return left


def plateau_notes(records: list[Record]) -> list[str]:
    """One note: how many seeds of each variant left the plateau, and after how many steps; none without a dev curve."""
    lines = []
    for name, outcomes in _with_curve(records).items():
        steps = sorted(step for outcome in outcomes if (step := leaving_step(outcome)) is not None)
        at = f" (step {', '.join(f'{step:,}' for step in steps)})" if steps else ""
        lines.append(f"{name} {len(steps)} of {len(outcomes)}{at}")
    if not lines:
        return []
    return [
        "Seeds that left the plateau of the majority class for good, and the first dev pass that shows it:"
        f" {'; '.join(lines)}."
    ]
