"""Blocks on sweeps over the number of landmarks of Nyström attention."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from scipy.stats import wilcoxon

from docs.blocks.markdown import ends, prose, table, table_printed, verdict
from docs.blocks.published import records
from lra.base.text import MISSING, number
from lra.runs.convergence import convergence_step
from lra.runs.schema import Record
from lra.tables.attention_sweep import LANDMARKS, sweep_points
from lra.tables.cells import TableCell
from lra.tables.statistics.estimators import kendall
from lra.tables.statistics.significance import significant_pairs

LISTOPS = (
    "sweep landmarks show run_group=published/short_landmarks_listops_600.jsonl size=short task=listops"
    " attention.num_landmarks=1,2,4,8,16,64 attention.value_skip_taps=35,0 recipe.steps=600"
)
PATHFINDER = "sweep landmarks show run_group=published/short_landmarks.jsonl size=short task=pathfinder"


def pathfinder() -> str:
    """The sweep on the short Pathfinder, and whether accuracy and error have the same order."""
    swept = sweep_points(records("short_landmarks"), LANDMARKS)
    points = [point for point in swept if point.attention_error is not None]
    errors = [point.attention_error[0] for point in points if point.attention_error is not None]
    tau, p_value = kendall([point.cell.central_value for point in points], errors)
    said = prose(
        f"Kendall's rank correlation of accuracy and *attention* over the {len(points)} numbers of landmarks:"
        f" τ = {number(tau, sign=True)}, {verdict(p_value, '.2f')}"
    )
    return f"{table_printed(PATHFINDER)()}\n\n{said}"


def listops() -> str:
    """The sweep on the short ListOps with and without the value skip, and what the number of landmarks moves there."""
    runs: dict[tuple[int, int, int], tuple[float, int]] = {}  # taps, landmarks, seed: accuracy in %, step
    for record in records("short_landmarks_listops_600"):
        attention: Mapping[str, Any] = record.settings["attention"]
        step = convergence_step(record)
        if attention["name"] == "nystrom":
            assert step is not None, "the tests below leave no run out"
            key = (attention["value_skip_taps"], attention["num_landmarks"], record.seed)
            runs[key] = 100 * record.test_accuracy, step
    rows = []
    for taps, name in ((35, "with the value skip"), (0, "without it")):
        mine = {(count, seed): run for (of, count, seed), run in sorted(runs.items()) if of == taps}
        counts = sorted({count for count, _ in mine})
        samples = {str(each): [run[0] for (count, _), run in mine.items() if count == each] for each in counts}
        differing = f"{len(significant_pairs(samples))} of {math.comb(len(samples), 2)}"
        tau, p_value = kendall([count for count, _ in mine], [step for _, step in mine.values()])
        steps = f"τ = {number(tau, sign=True)}, {verdict(p_value)}"
        rows.append((name, ends((run[0] for run in mine.values()), ".1f"), differing, steps))
    differing_pairs = "pairs of numbers of landmarks with significantly different accuracy"
    columns = ("runs", "test accuracy (%)", differing_pairs, "convergence step and landmarks")
    pairs = [(run, runs[0, count, seed]) for (taps, count, seed), run in runs.items() if taps]
    later = [without[1] - skip[1] for skip, without in pairs]
    accuracy = wilcoxon([skip[0] - without[0] for skip, without in pairs]).pvalue
    said = prose(
        f"Runs are paired by seed and number of landmarks. Without the value skip {sum(step > 0 for step in later)} of"
        f" {len(later)} converge later, by {ends(later, ',.0f')} steps (Wilcoxon {verdict(wilcoxon(later).pvalue)})."
        f" The difference in accuracy: {verdict(accuracy)}"
    )
    return f"{table_printed(LISTOPS)()}\n\n{table(columns, rows)}\n\n{said}"


def others() -> str:
    """Sweeps with few seeds: a row for each task, number of steps, with and without the value skip."""
    found: dict[tuple[str, int, bool], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records("short_landmarks_listops", "short_landmarks_no_skip"):
        row = found[record.task, record.steps, _has_skip(record)]
        row[record.settings["attention"]["num_landmarks"]].append(record)
    counts = sorted({count for row in found.values() for count in row})
    rows = [
        (
            task,
            f"{steps:,}",
            "yes" if skip else "no",
            *(str(TableCell(row[count])) if count in row else MISSING for count in counts),
        )
        for (task, steps, skip), row in sorted(found.items())
    ]
    return table(("task", "steps", "value skip", *(f"{count} landmarks" for count in counts)), rows)


def _has_skip(record: Record) -> bool:
    attention: Mapping[str, Any] = record.settings["attention"]
    return bool(attention.get("value_skip_taps"))
