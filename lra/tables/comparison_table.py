"""The table of a comparison: its columns, and the notes that say how its numbers were computed."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

from lra.base.spread import binomial_error, sample_std
from lra.base.text import MISSING, mean_and_std, number
from lra.runs.convergence import convergence_rule
from lra.runs.published_numbers import PAPER, TASKS, TEST_EXAMPLES
from lra.runs.schema import Record, method_column
from lra.tables.cells import TRIED, TableCell, cell_note, indices_of_best, make_rows
from lra.tables.comparison import Contender, compare_over_seeds
from lra.tables.dev_curves import EQUAL_FLOPS, EQUAL_TIME, EqualCost, at_equal_cost, dev_curves
from lra.tables.statistics.estimators import LEAST_SEEDS_FOR_T, Interval
from lra.tables.statistics.significance import RULE, Comparison, in_words
from lra.terminal.text_table import Column, TextTable

DIFFERENCE = "Δ: difference from the first row in points, with its 95 % interval"
EFFECT = "Hedges' g"
WOULD = "N would: so many seeds of each row find such a difference with a probability of 80 %"
EqualCosts = Mapping[str, EqualCost | None]  # by column
HALF_WIDTH_95 = 1.96  # half the width of a 95 % interval, in standard errors


def comparison_table(
    records: list[Record], compared: list[Contender], *, title: str, step_flops: Mapping[str, float] | None = None
) -> TextTable:
    """Build the table of a comparison of one task's records; the first contender is the baseline.

    `step_flops` has the FLOPs of a training step by row, where they were counted.

    A column is an entry below, words in `_details` for the terminal and in the caption for LaTeX, and a number in
    `_csv_row`.
    """
    head, cells = method_column(records), [contender.cell for contender in compared]
    equal, longer = _equal_costs(records, compared, step_flops or {}), _longer(records)
    over_seeds = compare_over_seeds({each.name: each.cell for each in compared}, compared[0].name) if compared else None
    details = _details(compared, over_seeds, records, equal)
    return TextTable.of_columns(
        [
            Column(head, [each.name for each in compared]),
            Column("accuracy (%)", list(map(str, cells))),
            *(Column(length, [texts[each.name] for each in compared]) for length, texts in longer.items()),
            Column("converged", [f"{cell.converged} of {cell.count}" for cell in cells], optional=6),
            Column("Δ over seeds", [_seeds(each) if each.mixed else _interval(each.over_seeds) for each in compared]),
            Column(
                "Δ over examples",
                [MISSING if each.mixed else _interval(each.over_examples) for each in compared],
                optional=8,
            ),
            Column(EFFECT, [number(each.effect, sign=True) for each in compared], optional=1, if_filled=True),
            *(
                Column(
                    column,
                    [cost.cell(each.name) if cost else MISSING for each in compared],
                    optional=2 if column == EQUAL_FLOPS else 3,
                    if_filled=True,
                )
                for column, cost in equal.items()
            ),
            Column("verdict", ["baseline" if each is compared[0] else each.verdict for each in compared]),
            Column(TRIED, [MISSING if cell.tried is None else str(cell.tried) for cell in cells], if_filled=True),
            Column("parameters", [f"{cell.parameters:,}" for cell in cells], optional=4),
            Column("s/step", [f"{1 / cell.steps_per_second:.3f}" for cell in cells], optional=7),
            Column("MiB", [f"{cell.peak_memory_bytes / 2**20:,.0f}" for cell in cells], optional=5),
        ],
        title=title,
        notes=[*_notes(compared), *details],
        details=len(details),
        best=_best_cells(cells),
        latex_caption=f"{cell_note(cells)}. {DIFFERENCE}, over seeds and by bootstrap over test examples."
        f" {EFFECT}: Δ over seeds in standard deviations between seeds. {''.join(_equal_cost_notes(equal))}"
        f" Verdict: over seeds, at 5 % for all rows together. {WOULD}",
        csv_rows=[{head: each.name, "task": each.cell.task, **_csv_row(each, equal)} for each in compared],
    )


def _best_cells(cells: Sequence[TableCell]) -> frozenset[tuple[int, str]]:
    best = {
        "accuracy (%)": indices_of_best([cell.central_value for cell in cells]),
        "s/step": indices_of_best([-1 / cell.steps_per_second for cell in cells], digits=3),
        "MiB": indices_of_best([-cell.peak_memory_bytes / 2**20 for cell in cells], digits=0),
    }
    return frozenset((row, name) for name, rows in best.items() for row in rows)


def _longer(records: list[Record]) -> dict[str, dict[str, str]]:
    """Write each row's accuracy on longer sequences: by column, one for each length, and by row."""
    rows = make_rows(records)
    lengths = sorted({int(length) for record in records for length in record.longer})
    return {
        f"at {length:,} tokens": {row.name: accuracy_on_longer(row.records, length) for row in rows}
        for length in lengths
    }


def accuracy_on_longer(records: Sequence[Record], length: int) -> str:
    """Write the mean and the standard deviation over seeds, in percent, on longer sequences than those of the training.

    A dash where the model of some seed has weights of one length, or was not tested on this one.
    """
    known = [record.longer.get(str(length)) for record in records]
    found = [100 * fraction for fraction in known if fraction is not None]
    if len(found) < len(known):
        return MISSING
    return mean_and_std(statistics.fmean(found), sample_std(found))


def _equal_costs(records: list[Record], compared: list[Contender], step_flops: Mapping[str, float]) -> EqualCosts:
    """Dev accuracies at equal training time, if all ran on one kind of device, and at equal FLOPs, by column."""
    one_device = len({record.cost["device"] for record in records}) == 1
    seconds = {each.name: 1 / each.cell.steps_per_second for each in compared if one_device}
    curves, like = dev_curves(records), next(iter(records), None)
    before = {EQUAL_TIME: _pretraining(compared, "train_seconds"), EQUAL_FLOPS: _pretraining(compared, "flops")}
    costs = {EQUAL_TIME: seconds, EQUAL_FLOPS: step_flops}
    return {name: at_equal_cost(curves, costs[name], like=like, before=before[name]) for name in costs}


def _pretraining(compared: list[Contender], what: Literal["train_seconds", "flops"]) -> dict[str, float]:
    """What the pretraining of each row that has one has cost, a mean over its runs."""
    costs: dict[str, float] = {}
    for each in compared:
        firsts = [record.pretraining for record in each.cell.records]
        of_runs = [first[what] for first in firsts if first is not None and what in first]
        if of_runs:
            costs[each.name] = statistics.fmean(of_runs)
    return costs


def _equal_cost_notes(equal: EqualCosts) -> list[str]:
    budgets = {
        EQUAL_TIME: "{:,.0f} s of training",
        EQUAL_FLOPS: "{:.2g} FLOPs (products and Fourier transforms, full length)",
    }
    within = [
        f"{column}: {budgets[column].format(cost.budget)}, all of {cost.cheapest}"
        for column, cost in equal.items()
        if cost
    ]
    mixed = any(cost and cost.has_rows_on_both_sides for cost in equal.values())
    ranges = "; m [low, high]: median and range, where only some seeds had converged by then" if mixed else ""
    return [f"Best dev accuracy of what the cheapest row costs: {'; '.join(within)}{ranges}."] if within else []


def _seeds(contender: Contender) -> str:
    """Write the accuracy of each seed, in their order: `seeds 18.2, 37.8, 36.9`."""
    return f"seeds {', '.join(number(accuracy, 1) for _, accuracy in sorted(contender.accuracies.items()))}"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return MISSING
    low, high = number(interval.low, sign=True), number(interval.high, sign=True)
    return f"{number(interval.difference, sign=True)} [{low}, {high}]"


def _notes(compared: list[Contender]) -> list[str]:
    """Word the notes that a reader needs who takes a number from the table."""
    if not compared:
        return []
    return [
        f"{cell_note(contender.cell for contender in compared)}.",
        "Δ: difference from the first row in points [95 % interval of these two rows alone]."
        f" Verdict: over the seeds ({LEAST_SEEDS_FOR_T} or more), at 5 % for all rows together. {WOULD}.",
    ]


def _details(
    compared: list[Contender], over_seeds: Comparison | None, records: list[Record], equal: EqualCosts
) -> list[str]:
    """Word how the numbers were computed."""
    if not compared:
        return []
    task = records[0].task
    mixed = any(contender.mixed for contender in compared)
    where = (
        " Where only some seeds converged, each seed's accuracy is shown in place of differences, without a verdict."
        if mixed
        else ""
    )
    return [
        *([_tests(compared, over_seeds)] if over_seeds else []),
        "Δ over seeds: each interval is of its row and the first one alone; it assumes normally distributed"
        f" accuracies.{where}",
        "Δ over examples: of the seeds that both have, bootstrap over test examples, for these trained models only."
        f" {EFFECT}: Δ over seeds in standard deviations between the seeds of both rows.",
        *_equal_cost_notes(equal),
        f"converged: {convergence_rule(records)}.",
        "s/step: fastest seed, dev passes included. MiB: peak memory of the process.",
        *([paper_noise()] if task in TASKS else []),
    ]


def _tests(compared: list[Contender], over_seeds: Comparison) -> str:
    """Say which differences are significant, and by which rule."""
    names = [contender.name for contender in compared if contender.significant]
    return f"Significantly different from {compared[0].name}: {in_words(names, of=len(over_seeds.p_values))}. {RULE}"


def paper_noise() -> str:
    """Word a note that compares the paper's lead of Nyström over full attention with the noise of its tests."""
    averages = {name: sum(PAPER[name][task] for task in TASKS) / len(TASKS) for name in ("nystrom", "full")}
    variances = [
        binomial_error(PAPER[name][task] / 100, TEST_EXAMPLES[task]) ** 2 for name in averages for task in TASKS
    ]
    half = 100 * HALF_WIDTH_95 * math.sqrt(sum(variances)) / len(TASKS)
    lead = averages["nystrom"] - averages["full"]
    verdict = "n.s." if abs(lead) <= half else "significant"
    return (
        f"For scale: the paper's averages, nystrom {averages['nystrom']:.2f} and full {averages['full']:.2f}, are"
        f" {lead:.2f} points apart; the 95 % interval of one test each is ±{half:.2f}: {verdict}"
    )


def _csv_row(contender: Contender, equal: EqualCosts) -> dict[str, object]:
    cell = contender.cell
    flat: dict[str, object] = {
        "count": cell.count, "mean": cell.mean, "std": cell.std, "converged": cell.converged, "pairs": contender.pairs,
        "tried": cell.tried, "median": cell.median, "lowest": min(cell.accuracies), "highest": max(cell.accuracies),
    }  # fmt: skip
    intervals = {"seeds": contender.over_seeds, "examples": contender.over_examples}
    for name, interval in intervals.items():
        for end in ("difference", "low", "high"):
            flat[f"{name}_{end}"] = None if interval is None else getattr(interval, end)
    return flat | {
        **{
            column.lower().replace(" ", "_"): cost.value(contender.name) if cost else None
            for column, cost in equal.items()
        },
        "effect": contender.effect,
        "p": contender.p,
        "significant": contender.significant,
        "verdict": contender.verdict,
        "parameters": cell.parameters,
        "seconds_per_step": 1 / cell.steps_per_second,
        "hours": cell.hours,
        "peak_memory_bytes": cell.peak_memory_bytes,
    }
