"""Compare variants on one task with a baseline: differences with confidence intervals, over seeds and test examples."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lra.base.spread import binomial_error, sample_std
from lra.base.text import MISSING, mean_and_std, number
from lra.runs.convergence import convergence_rule
from lra.runs.flat_settings import flatten
from lra.runs.published_numbers import PAPER, TASKS, TEST_EXAMPLES
from lra.runs.record import unpack_correct
from lra.runs.record_words import method_column
from lra.runs.schema import MIXERS, Record
from lra.tables.cells import TRIED, Row, TableCell, cell_note, indices_of_best, make_rows
from lra.tables.dev_curves import EQUAL_FLOPS, EQUAL_TIME, EqualCost, at_equal_cost, dev_curves
from lra.tables.seeds_needed import cannot_tell, few_seeds
from lra.tables.statistics.estimators import LEAST_SEEDS_FOR_T, Interval, paired_bootstrap
from lra.tables.statistics.significance import RULE, Comparison, Seeds, compare, in_words, significant
from lra.tables.variants import RowKey
from lra.terminal.text_table import Column, TextTable

SIGNIFICANT = {True: "significant", False: "n.s."}
DIFFERENCE = "Δ: difference from the first row in points, with its 95 % interval"
EFFECT = "Hedges' g"
WOULD = "N would: so many seeds of each row find such a difference with a probability of 80 %"
EqualCosts = Mapping[str, EqualCost | None]  # by column
HALF_WIDTH_95 = 1.96  # half the width of a 95 % interval, in standard errors


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A row of one task beside the baseline.

    Attributes:
        row: the row.
        cell: its cell of this task.
        over_seeds: difference from the baseline in points, with an interval over seeds; None for fewer than three seeds
            of either, and where only some seeds of either converged, which are no draws of a normal distribution.
        effect: the same difference in standard deviations between seeds; None also without a spread.
        significant: whether the difference is significant over seeds; None where `over_seeds` is.
        said_over_seeds: whether it is, in a few words; empty for fewer than three seeds of either.
        p: its p value, for all rows together.
        over_examples: difference from the baseline over the seeds that both have, with an interval over test examples;
            None if the records do not say which examples were predicted right, or have different test data.
        pairs: number of seeds that both have.
        mixed: whether only some seeds converged, of this row or of the baseline.
    """

    row: Row
    cell: TableCell
    over_examples: Interval | None
    pairs: int
    over_seeds: Interval | None
    effect: float | None = None
    significant: bool | None = None
    said_over_seeds: str = ""
    p: float | None = None
    mixed: bool = False

    @property
    def name(self) -> str:
        """The name of its row."""
        return self.row.name

    @property
    def accuracies(self) -> dict[int, float]:
        """The test accuracy in percent, by seed."""
        return {record.seed: 100 * record.test_accuracy for record in self.cell.records}

    @property
    def verdict(self) -> str:
        """Whether the difference is significant, in a few words."""
        if self.said_over_seeds:
            return self.said_over_seeds
        if self.over_examples is None:
            return MISSING
        seeds = f"{self.pairs} seed{'s' if self.pairs > 1 else ''}"
        return f"{SIGNIFICANT[self.over_examples.significant]} on the test set ({seeds})"


def contenders(
    records: list[Record], baseline: RowKey | None = None, *, methods: Sequence[str] = ()
) -> list[Contender]:
    """Make a contender of each row of one task's records; the baseline, else the first row, comes first.

    Rows of `methods` come next, in this order, then all others by name.
    """
    rows = make_rows(records)
    if not rows:
        return []
    order = {method: position for position, method in enumerate(dict.fromkeys(methods))}
    rows.sort(key=lambda row: order.get(row.method, len(order)))
    of_baseline = rows[0] if baseline is None else {row.key: row for row in rows}[baseline]
    rows = [of_baseline, *(row for row in rows if row is not of_baseline)]
    (task,) = of_baseline.cells
    cells, first = {row.name: row.cells[task] for row in rows}, of_baseline.name
    over_seeds = compare_over_seeds(cells, first)
    differing = significant([over_seeds]) if over_seeds else set()
    compared = []
    for row in rows:
        name, cell = row.name, row.cells[task]
        pairs = pairs_by_seed(cell.records, cells[first].records if name != first else [])
        mixed = name != first and (cell.partly_converged or cells[first].partly_converged)
        compared.append(
            Contender(
                row=row,
                cell=cell,
                over_seeds=over_seeds.differences.get(name) if over_seeds else None,
                effect=over_seeds.effects.get(name) if over_seeds else None,
                significant=name in differing if over_seeds and name in over_seeds.p_values else None,
                said_over_seeds=verdict_over_seeds(over_seeds, cells, name, first) if name != first else "",
                p=over_seeds.p_values.get(name) if over_seeds else None,
                over_examples=_over_examples(pairs),
                pairs=len(pairs),
                mixed=mixed,
            )
        )
    return compared


def seeds_of_rows(cells: Mapping[str, TableCell]) -> Seeds:
    """The accuracies of the cells that are compared over seeds: those of three seeds or more, all or none converged.

    Where some converged and others did not, the seeds have two values rather than a mean and a spread, and their
    variance would hide the differences of all other rows.
    """
    return {
        name: cell.accuracies
        for name, cell in cells.items()
        if cell.count >= LEAST_SEEDS_FOR_T and not cell.partly_converged
    }


def compare_over_seeds(cells: Mapping[str, TableCell], baseline: str) -> Comparison | None:
    """Compare the cells of `seeds_of_rows` with the baseline; None without it or another one."""
    seeds = seeds_of_rows(cells)
    return compare(seeds, baseline) if baseline in seeds and len(seeds) > 1 else None


def verdict_over_seeds(over_seeds: Comparison | None, cells: Mapping[str, TableCell], name: str, baseline: str) -> str:
    """Word whether the seeds of a row differ significantly from the baseline's; empty for fewer than three of either.

    `over_seeds` is the comparison of all `cells`. Where only some seeds of either converged they have no verdict.
    """
    if over_seeds is not None and name in over_seeds.p_values:
        return (
            SIGNIFICANT[True]
            if name in significant([over_seeds])
            else cannot_tell(seeds_of_rows(cells), name, baseline)
        )
    counts = cells[name].count, cells[baseline].count
    return few_seeds(*counts) if min(counts) >= LEAST_SEEDS_FOR_T else ""


def pairs_by_seed(first: list[Record], second: list[Record]) -> list[tuple[Record, Record]]:
    """Pair the records of two rows on one task that have the same seed."""
    by_seed = {record.seed: record for record in second}
    return [(record, by_seed[record.seed]) for record in first if record.seed in by_seed]


def _over_examples(pairs: list[tuple[Record, Record]]) -> Interval | None:
    """Bootstrap over test examples, in points; None if a record lacks them or the test examples differ."""
    records = [record for pair in pairs for record in pair]
    if not records or any("test_correct" not in record.outcome for record in records):
        return None
    parts = ("tokens", "test.sequences", "test.labels")
    data = {(record.outcome["test_examples"], *map(record.provenance["data_sha256"].get, parts)) for record in records}
    if len(data) > 1:
        return None
    first, second = (
        [unpack_correct(record.outcome["test_correct"], record.outcome["test_examples"]) for record in side]
        for side in zip(*pairs, strict=True)
    )
    interval = paired_bootstrap(first, second)
    return Interval(difference=100 * interval.difference, low=100 * interval.low, high=100 * interval.high)


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
        f"at {length:,} tokens": {
            row.name: _mean_and_std([record.longer.get(str(length)) for record in row.records]) for row in rows
        }
        for length in lengths
    }


def _mean_and_std(fractions: list[float | None]) -> str:
    """Write the mean and the standard deviation of some fractions in percent; a dash where one is missing."""
    known = [100 * fraction for fraction in fractions if fraction is not None]
    if len(known) < len(fractions):
        return MISSING
    return mean_and_std(statistics.fmean(known), sample_std(known))


def _equal_costs(records: list[Record], compared: list[Contender], step_flops: Mapping[str, float]) -> EqualCosts:
    """Dev accuracies at equal training time, if all ran on one kind of device, and at equal FLOPs, by column."""
    one_device = len({record.cost["device"] for record in records}) == 1
    seconds = {each.name: 1 / each.cell.steps_per_second for each in compared if one_device}
    curves, like = dev_curves(records), next(iter(records), None)
    costs = {EQUAL_TIME: seconds, EQUAL_FLOPS: step_flops}
    return {column: at_equal_cost(curves, of_steps, like=like) for column, of_steps in costs.items()}


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


def baseline_row(rows: Sequence[Row], wanted: Mapping[str, Any]) -> Row | None:
    """Choose among rows of one method or none: the one nearest to the wanted settings, then that with most seeds.

    Nearest is the row with the fewest options of the method, then with the fewest other settings, that differ; among
    rows that are alike in all of this the first counts. `wanted` are settings by group, as those of a run: the default
    options where a user asks for no others. Groups that are not there are not compared.

    Returns:
        None without rows.
    """
    if not rows:
        return None
    wanted_options = set(flatten(wanted).items())

    def rank(row: Row) -> tuple[int, int, int]:
        settings = row.records[0]["settings"]
        compared = set(flatten({group: value for group, value in settings.items() if group in wanted}).items())
        differing = {key for key, _ in wanted_options ^ compared}
        of_method = sum(key.split(".")[0] in MIXERS for key in differing)
        return of_method, len(differing) - of_method, -len(row.records)

    return min(rows, key=rank)


def rows_of(method: str, rows: Iterable[Row]) -> list[Row]:
    """The rows of an attention or mixer."""
    return [row for row in rows if row.method == method]
