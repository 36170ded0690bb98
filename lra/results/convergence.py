"""When runs converge: each begins on a plateau, where it guesses the majority class, and may not leave it."""

from lra.results.reference import CONVERGED_FROM
from lra.results.statistics import converged
from lra.results.variants import group_by_variant
from lra.runs.schema import DevCurve, Record


def dev_curves(records: list[Record]) -> dict[str, dict[int, DevCurve]]:
    """The curves of each variant, by seed; records of older versions have none."""
    return {
        name: {record["identity"]["seed"]: record["outcome"]["dev_curve"] for record in members}
        for name, members in _with_curve(records).items()
    }


def _with_curve(records: list[Record]) -> dict[str, list[Record]]:
    """The records that have a dev curve, by variant."""
    by_variant = {
        name: [record for record in members if "dev_curve" in record["outcome"]]
        for name, members in group_by_variant(records).items()
    }
    return {name: members for name, members in by_variant.items() if members}


def convergence_step(record: Record) -> int | None:
    """The step of the first dev pass from which on all count as converged, as test accuracies do in a table.

    The rate of the majority class is that of the test split.

    Returns:
        None for a run whose last dev pass does not, and for a record without `dev_curve` or `dev_examples`.
    """
    outcome, least = record["outcome"], CONVERGED_FROM.get(record["identity"]["task"], 0.0)
    if "dev_curve" not in outcome or "dev_examples" not in outcome:
        return None
    since = None
    passes = zip(outcome["dev_curve"]["step"], outcome["dev_curve"]["accuracy"], strict=True)
    for step, accuracy in passes:
        if not converged(accuracy, outcome["majority_rate"], outcome["dev_examples"], least=least):
            since = None
        elif since is None:
            since = step
    return since


def convergence_notes(records: list[Record]) -> list[str]:
    """One note: how many seeds of each variant converged by their dev accuracy, and after how many steps.

    Records without a dev curve or without the number of dev examples are not counted; no note if there are no others.
    """
    lines = []
    for name, of_variant in _with_curve(records).items():
        members = [record for record in of_variant if "dev_examples" in record["outcome"]]
        if not members:
            continue
        steps = sorted(step for record in members if (step := convergence_step(record)) is not None)
        at = f" (step {', '.join(f'{step:,}' for step in steps)})" if steps else ""
        lines.append(f"{name} {len(steps)} of {len(members)}{at}")
    if not lines:
        return []
    return [
        "Convergence step of each seed (the first dev pass from which on all dev accuracies are converged):"
        f" {'; '.join(lines)}."
    ]
