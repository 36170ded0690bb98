"""Compare variants on one task with a baseline: differences with confidence intervals.

Differences are paired by seed and by test example.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lra.results.cells import TRIED, TableCell, cell_note, make_cell, places_of_best
from lra.results.protocol_and_size import method_column
from lra.results.reference import PAPER, TASKS, TEST_EXAMPLES, convergence_rule
from lra.results.statistics import LEAST_SEEDS_FOR_T, Interval, binomial_error, discoveries, paired_bootstrap, paired_t
from lra.results.tables import MISSING, TextTable, number
from lra.results.variants import group_by_variant
from lra.runs.flatten_settings import flatten
from lra.runs.record import unpack_correct
from lra.runs.schema import MIXERS, Record

SIGNIFICANT = {True: "significant", False: "n.s."}
DIFFERENCE = "Δ: difference from the first row in points, with its 95 % interval"
HALF_WIDTH_95 = 1.96  # half the width of a 95 % interval, in standard errors


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One variant of a comparison.

    Attributes:
        name: the variant's name in tables.
        cell: statistics over its seeds.
        accuracies: test accuracy in percent, by seed.
        over_seeds: difference from the baseline in points, with an interval over the seeds that both have; None for
            fewer than three such seeds, and where the interval assumes too much, see `converged_note`.
        over_examples: the same difference with an interval over test examples; None if the records do not say which
            examples were predicted right, or have different test data.
        pairs: number of seeds that both have.
        converged_note: empty, or how many seeds converged where some did and others did not, of this variant or of the
            baseline. They are no draws of one normal distribution, which an interval over seeds assumes.
    """

    name: str
    cell: TableCell
    accuracies: dict[int, float]
    over_seeds: Interval | None
    over_examples: Interval | None
    pairs: int
    converged_note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the difference is significant, in a few words."""
        if self.converged_note:
            return self.converged_note
        if self.over_seeds is not None:
            return SIGNIFICANT[self.over_seeds.significant]
        if self.over_examples is None:
            return MISSING
        seeds = f"{self.pairs} seed{'s' if self.pairs > 1 else ''}"
        return f"{SIGNIFICANT[self.over_examples.significant]} on the test set ({seeds})"


def contenders(records: list[Record], baseline: str | None = None, *, methods: Sequence[str] = ()) -> list[Contender]:
    """Make a contender of each variant in the records of one task; the baseline, else the first variant, comes first.

    Variants of `methods` come next, in this order, then all others by name.
    """
    groups = group_by_variant(records)
    if not groups:
        return []
    places = {method: place for place, method in enumerate(dict.fromkeys(methods))}
    groups = dict(sorted(groups.items(), key=lambda item: places.get(item[1][0]["identity"]["attention"], len(places))))
    first = next(iter(groups)) if baseline is None else baseline
    order = [first, *[name for name in groups if name != first]]
    return [_contender(name, groups[name], groups[first] if name != first else []) for name in order]


def _contender(name: str, records: list[Record], baseline_records: list[Record]) -> Contender:
    pairs, cell = pairs_by_seed(records, baseline_records), make_cell(records, "paper")
    baseline = make_cell(baseline_records, "paper") if baseline_records else None
    converged_note = cell.converged_of_all if cell.partly_converged else ""
    if not converged_note and baseline is not None and baseline.partly_converged:
        converged_note = f"baseline {baseline.converged_of_all}"
    return Contender(
        name=name,
        cell=cell,
        accuracies={record["identity"]["seed"]: 100 * record["outcome"]["test_accuracy"] for record in records},
        over_seeds=None if converged_note else over_seeds(pairs),
        over_examples=_over_examples(pairs),
        pairs=len(pairs),
        converged_note=converged_note,
    )


def pairs_by_seed(first: list[Record], second: list[Record]) -> list[tuple[Record, Record]]:
    """Pair the records of two variants on one task that have the same seed."""
    by_seed = {record["identity"]["seed"]: record for record in second}
    return [(record, by_seed[record["identity"]["seed"]]) for record in first if record["identity"]["seed"] in by_seed]


def over_seeds(pairs: list[tuple[Record, Record]]) -> Interval | None:
    """Compute the difference of paired accuracies in points, with Student's interval; None for too few pairs."""
    if len(pairs) < LEAST_SEEDS_FOR_T:
        return None
    first, second = ([100 * record["outcome"]["test_accuracy"] for record in side] for side in zip(*pairs, strict=True))
    return paired_t(first, second)


def _over_examples(pairs: list[tuple[Record, Record]]) -> Interval | None:
    """Bootstrap over test examples, in points; None if a record lacks them or the test examples differ."""
    records = [record for pair in pairs for record in pair]
    if not records or any("test_correct" not in record["outcome"] for record in records):
        return None
    if len({_test_data(record) for record in records}) > 1:
        return None
    first, second = (
        [unpack_correct(record["outcome"]["test_correct"], record["outcome"]["test_examples"]) for record in side]
        for side in zip(*pairs, strict=True)
    )
    interval = paired_bootstrap(first, second)
    return Interval(difference=100 * interval.difference, low=100 * interval.low, high=100 * interval.high)


def _test_data(record: Record) -> tuple[object, ...]:
    sha256 = record["provenance"]["data_sha256"]
    return (
        record["outcome"]["test_examples"],
        sha256.get("tokens"),
        sha256.get("test.sequences"),
        sha256.get("test.labels"),
    )


def comparison_table(records: list[Record], compared: list[Contender], *, title: str) -> TextTable:
    """Build the table of a comparison of one task's records; the first contender is the baseline."""
    head, rows, numbers = method_column(records), [], []
    for contender in compared:
        cell = contender.cell
        rows.append(
            [
                contender.name,
                str(cell),
                f"{cell.converged} of {cell.count}",
                _seeds(contender) if contender.converged_note else _interval(contender.over_seeds),
                _interval(contender.over_examples),
                contender.verdict if contender is not compared[0] else "baseline",
                MISSING if cell.tried is None else str(cell.tried),
                f"{cell.parameters:,}",
                f"{1 / cell.steps_per_second:.3f}",
                f"{cell.peak_memory_bytes / 2**20:,.0f}",
            ]
        )
        numbers.append({head: contender.name, "task": records[0]["identity"]["task"], **_numbers(contender)})
    columns = (
        head, "accuracy (%)", "converged", "Δ over seeds", "Δ over examples", "verdict",
        TRIED, "parameters", "s/step", "MiB",
    )  # fmt: skip
    optional = ("parameters", "MiB", "converged", "s/step", "Δ over examples")
    cells = [contender.cell for contender in compared]
    best = {
        "accuracy (%)": places_of_best([cell.central_value for cell in cells]),
        "s/step": places_of_best([-1 / cell.steps_per_second for cell in cells], digits=3),
        "MiB": places_of_best([-cell.peak_memory_bytes / 2**20 for cell in cells], digits=0),
    }
    details = _details(compared, records)
    table = TextTable(
        title=title,
        columns=columns,
        rows=rows,
        notes=[*_notes(compared), *details],
        details=len(details),
        best=frozenset((row, name) for name, places in best.items() for row in places),
        legend=f"{cell_note(cells)}. {DIFFERENCE}: Student's paired t over seeds, bootstrap over test examples."
        " Verdict: by that t test, two-sided, α = 5 %",
        optional=optional,
        numbers=numbers,
    )
    return table if any(cell.tried is not None for cell in cells) else table.without([TRIED])


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
        return ["No record yet: lra compare run makes them."]
    return [
        f"{cell_note(contender.cell for contender in compared)}.",
        "Δ: difference from the first row in points [95 % interval]. Verdict: paired t test over the seeds"
        f" ({LEAST_SEEDS_FOR_T} or more), two-sided, α = 5 %; with few seeds, n.s. does not mean equal.",
    ]


def _details(compared: list[Contender], records: list[Record]) -> list[str]:
    """Word how the numbers were computed."""
    if not compared:
        return []
    task = records[0]["identity"]["task"]
    any_note = any(contender.converged_note for contender in compared)
    where = " Where only some seeds converged, each seed's accuracy is shown instead." if any_note else ""
    return [
        *_many_differences(compared),
        f"The t test assumes normally distributed differences.{where}",
        "Δ over seeds: over the seeds that both have. Δ over examples: bootstrap over test examples, for these trained"
        " models only.",
        f"converged: {convergence_rule([task])}.",
        "s/step: fastest seed, dev passes included. MiB: peak memory of the process.",
        *([paper_noise()] if task in TASKS else []),
    ]


def _many_differences(compared: list[Contender]) -> list[str]:
    """Say which of several differences are still significant when corrected for multiple comparisons."""
    tested = {contender.name: contender.over_seeds.p for contender in compared if contender.over_seeds}
    if len(tested) < 2:
        return []
    significant = discoveries([p for p in tested.values() if p is not None])
    names = [name for name, yes in zip(tested, significant, strict=True) if yes]
    return [
        "The verdicts are not corrected for multiple comparisons. At a false discovery rate of 5 % (Benjamini–Hochberg)"
        f" {len(names)} of {len(tested)} differences are significant{': ' * bool(names)}{', '.join(names)}."
    ]


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


def _numbers(contender: Contender) -> dict[str, object]:
    cell = contender.cell
    flat: dict[str, object] = {
        "count": cell.count, "mean": cell.mean, "std": cell.std, "converged": cell.converged, "pairs": contender.pairs,
        "tried": cell.tried, "median": cell.median, "lowest": min(cell.accuracies), "highest": max(cell.accuracies),
    }  # fmt: skip
    for name, interval in (("seeds", contender.over_seeds), ("examples", contender.over_examples)):
        for end in ("difference", "low", "high"):
            flat[f"{name}_{end}"] = None if interval is None else getattr(interval, end)
    return flat | {
        "parameters": cell.parameters,
        "seconds_per_step": 1 / cell.steps_per_second,
        "hours": cell.hours,
        "peak_memory_bytes": cell.peak_memory_bytes,
    }


def baseline_row(rows: Mapping[str, list[Record]], wanted: Mapping[str, Any]) -> str | None:
    """Choose among rows of one method or none: the one nearest to the wanted settings, then that with most seeds.

    Nearest is the row with the fewest options of the method, then with the fewest other settings, that differ; among
    rows that are alike in all of this the first counts. `wanted` are settings by group, as those of a run: the default
    options where a user asks for no others. Groups that are not there are not compared.

    Returns:
        The row's name; None without rows.
    """
    if not rows:
        return None
    wanted_options = set(flatten(wanted).items())

    def rank(name: str) -> tuple[int, int, int]:
        settings = rows[name][0]["settings"]
        compared = set(flatten({group: value for group, value in settings.items() if group in wanted}).items())
        differing = {key for key, _ in wanted_options ^ compared}
        of_method = sum(key.split(".")[0] in MIXERS for key in differing)
        return of_method, len(differing) - of_method, -len(rows[name])

    return min(rows, key=rank)


def rows_of(method: str, rows: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
    """The rows of an attention or mixer."""
    return {name: members for name, members in rows.items() if members[0]["identity"]["attention"] == method}
