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
    by_variant = {
        name: [record["outcome"]["dev_curve"] for record in members if "dev_curve" in record["outcome"]]
        for name, members in group_by_variant(records).items()
    }
    return {name: curves for name, curves in by_variant.items() if curves}


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
    for name, members in group_by_variant(records).items():
        with_curve = [record for record in members if "dev_curve" in record["outcome"]]
        steps = sorted(step for record in with_curve if (step := leaving_step(record["outcome"])) is not None)
        if with_curve:
            at = f" (step {', '.join(f'{step:,}' for step in steps)})" if steps else ""
            lines.append(f"{name} {len(steps)} of {len(with_curve)}{at}")
    if not lines:
        return []
    return [
        "Seeds that left the plateau of the majority class for good, and the first dev pass that shows it:"
        f" {'; '.join(lines)}."
    ]
