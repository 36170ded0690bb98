"""What the records of each task say of the methods.

How well the task tells them apart, which are significantly better than no mixing of tokens, and whether their order is
a published one.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lra.runs.flat_settings import flat_keys
from lra.runs.published_numbers import REFERENCES, in_benchmark_order, paper_attention, paper_settings
from lra.runs.schema import MIXERS, Record
from lra.tables.cells import TableCell, make_rows
from lra.tables.comparison import baseline_row, rows_of, seeds_of_rows
from lra.tables.statistics.estimators import kendall, kendall_taus, pooled_variance
from lra.tables.statistics.significance import Comparison, Seeds, compare, in_words, significant, significant_pairs

LEAST_SEEDS_FOR_SPREAD = 2
NO_ATTENTION = "none"
LEAST_ATTENTIONS = 3
RESAMPLES = 1000
DIGITS = 7  # of a mean accuracy: float32 tells apart what the counts of right answers do not


Cells = Mapping[str, TableCell]  # of one task, by the name of their row


def cells_by_task(records: Iterable[Record]) -> dict[str, Cells]:
    """The cells of each task, in the order of the table, by the name of the row that they have in a table of all."""
    cells: dict[str, dict[str, TableCell]] = defaultdict(dict)
    for row in make_rows(records):
        for task, cell in row.cells.items():
            cells[task][row.name] = cell
    return {task: cells[task] for task in in_benchmark_order(cells)}


def other_settings_by_record(records: Sequence[Record]) -> dict[int, str]:
    """Write, by the `id` of each record, the settings that its row's name lists and that are not the attention's."""
    options: set[str] = set()
    for record in records:
        settings = record.settings
        options |= flat_keys({group: settings[group] for group in MIXERS if group in settings})
    rows = make_rows(records, ignored=tuple(sorted(options)))
    return {id(record): row.name.partition(" (")[2] for row in rows for record in row.records}


def _accuracies(records: Iterable[Record]) -> list[float]:
    return [record.test_accuracy for record in records]


@dataclass(frozen=True, kw_only=True)
class Separation:
    """How far the methods of a task lie apart, and how many pairs of them differ significantly.

    Attributes:
        between: standard deviation of the methods' means, in percentage points. Without any difference it is 1/√seeds
            of `within`.
        within: standard deviation over seeds, pooled over methods.
        pairs: number of significantly different pairs of those that are compared over seeds.
        compared: number of all pairs of these.
        best, worst: the methods with the highest and the lowest mean.
    """

    between: float
    within: float
    pairs: int
    compared: int
    best: str
    worst: str

    def __str__(self) -> str:
        """`2.10 / 0.40 = 5.2, 7 of 10 pairs (best nystrom, worst none)`."""
        if not self.between and not self.within:
            return "all alike"
        ratio = self.between / self.within if self.within else math.inf
        ends = f"best {self.best}, worst {self.worst}"
        return f"{self.between:.2f} / {self.within:.2f} = {ratio:.1f}, {self.pairs} of {self.compared} pairs ({ends})"


def separation(by_name: Seeds, compared: Seeds) -> Separation:
    """Measure how far two methods or more lie apart, each with the accuracies (fractions) of two seeds or more.

    Pairs are of those that are `compared` over seeds.
    """
    assert len(by_name) > 1
    assert all(len(seeds) >= LEAST_SEEDS_FOR_SPREAD for seeds in by_name.values())
    means = {name: statistics.mean(seeds) for name, seeds in by_name.items()}
    return Separation(
        between=100 * statistics.stdev(means.values()),
        within=100 * math.sqrt(pooled_variance(list(by_name.values()))[0]),
        pairs=len(significant_pairs(compared)),
        compared=math.comb(len(compared), 2),
        best=max(means, key=lambda name: means[name]),
        worst=min(means, key=lambda name: means[name]),
    )


def separation_by_task(records: Sequence[Record]) -> Mapping[str, Separation]:
    """By task; variants with one seed are left out, and tasks with fewer than two variants."""
    separations = {}
    for task, cells in cells_by_task(records).items():
        several = {name: cell for name, cell in cells.items() if cell.count >= LEAST_SEEDS_FOR_SPREAD}
        if len(several) > 1:
            by_name = {name: _accuracies(cell.records) for name, cell in several.items()}
            separations[task] = separation(by_name, seeds_of_rows(several))
    return separations


@dataclass(frozen=True, kw_only=True)
class AboveNone:
    """One task's rows compared with `none` of the same other settings.

    Attributes:
        points: for each compared row the difference of its mean from that of `none`, in percentage points.
        above: the rows that are significantly above `none`, in the order of the table.
        not_compared: rows with fewer than three seeds, or of which some seeds converged and others did not, or whose
            `none` is such a row.
    """

    points: Mapping[str, float]
    above: tuple[str, ...]
    not_compared: tuple[str, ...]

    def __str__(self) -> str:
        """`2 of 5 (full +1.07, nystrom +0.97)`."""
        return in_words([f"{name} {self.points[name]:+.2f}" for name in self.above], of=len(self.points))


def above_no_attention(records: Sequence[Record]) -> dict[str, AboveNone]:
    """Compare each row of a table with `none`, by task; tasks without `none` are left out."""
    other_settings = other_settings_by_record(list(records))
    results = {}
    for task, cells in cells_by_task(records).items():
        families: dict[str, dict[str, TableCell]] = defaultdict(dict)  # of rows that differ by the method alone
        for name, cell in cells.items():
            families[other_settings[id(cell.records[0])]][name] = cell
        if any(map(_is_none, cells.values())):
            results[task] = _above(list(families.values()))
    return results


def _above(families: Sequence[Cells]) -> AboveNone:
    comparisons: list[Comparison] = []
    not_compared: list[str] = []
    for cells in families:
        seeds = seeds_of_rows(cells)
        floor = next((name for name in seeds if _is_none(cells[name])), None)
        others = [name for name in cells if not _is_none(cells[name])]
        not_compared += [name for name in others if floor is None or name not in seeds]
        if floor is not None and len(seeds) > 1:
            comparisons.append(compare(seeds, floor))
    points = {name: apart.difference for each in comparisons for name, apart in each.differences.items()}
    differing = significant(comparisons)
    return AboveNone(
        points=points,
        above=tuple(name for name in points if name in differing and points[name] > 0),
        not_compared=tuple(not_compared),
    )


def _is_none(cell: TableCell) -> bool:
    return cell.records[0].method == NO_ATTENTION


@dataclass(frozen=True, kw_only=True)
class RankAgreement:
    """Kendall's rank correlation of measured and published accuracies, over attentions.

    Attributes:
        tau: the correlation, in [-1, 1]; 1 means the same order.
        low, high: middle 95 % of `tau` over resampled seeds (bootstrap); the attentions are fixed. With few seeds this
            is narrower than a confidence interval. None where an attention has one seed.
        p_value: two-sided probability that chance gives a correlation at least this strong.
        attentions: number of attentions.
    """

    tau: float
    low: float | None
    high: float | None
    p_value: float
    attentions: int

    def __str__(self) -> str:
        """One line, such as `τ +0.40 [+0.20, +0.60], 5 attentions, p = 0.48`."""
        resampled = "" if self.low is None else f" [{self.low:+.2f}, {self.high:+.2f}]"
        return f"τ {self.tau:+.2f}{resampled}, {self.attentions} attentions, p = {self.p_value:.2f}"


def rank_agreement(measured: Sequence[Sequence[float]], published: Sequence[float]) -> RankAgreement:
    """Compare the measured order of attentions, by mean accuracy over seeds, with the published order."""
    assert len(measured) == len(published) >= LEAST_ATTENTIONS
    tau, p_value = kendall([_mean(seeds) for seeds in measured], published)
    low = high = None
    if min(map(len, measured)) > 1:
        rng = np.random.default_rng(0)
        drawn = [rng.choice(seeds, (RESAMPLES, len(seeds))).mean(1) for seeds in measured]
        means = np.round(np.stack(drawn, axis=1), DIGITS)
        low, high = map(float, np.nanquantile(kendall_taus(means, published), (0.025, 0.975)))
    return RankAgreement(tau=tau, low=low, high=high, p_value=p_value, attentions=len(measured))


def _mean(seeds: Sequence[float]) -> float:
    return round(float(np.mean(seeds)), DIGITS)


def agreement_by_task(records: Sequence[Record], *, reference: str) -> Mapping[str, RankAgreement]:
    """Compute the agreement with a published order for each task with at least three of its attentions.

    An attention counts with its row of default options and the usual other settings; those of the paper's attentions
    have the paper's numbers of landmarks, features and so on. The records are of one size and protocol; `reference` is
    a key of `REFERENCES`.
    """
    agreements = {}
    for task in in_benchmark_order({record.task for record in records}):
        compared = [record for record in records if record.task == task and _has_the_papers_numbers(record)]
        other_settings = other_settings_by_record(compared)
        rows = make_rows(record for record in compared if not other_settings[id(record)])
        published = {name: row[task] for name, row in REFERENCES[reference].items() if task in row}
        chosen = {
            name: baseline_row(rows_of(name, rows), {"attention": paper_attention(name)}) for name in sorted(published)
        }
        known = {name: _accuracies(row.records) for name, row in chosen.items() if row is not None}
        if len(known) >= LEAST_ATTENTIONS and len(set(map(_mean, known.values()))) > 1:
            agreements[task] = rank_agreement(list(known.values()), [published[name] for name in known])
    return agreements


def _has_the_papers_numbers(record: Record) -> bool:
    """Whether the numbers among the attention's settings are the paper's; its words belong to the protocol."""
    papers = paper_settings(record.task, record.method)
    ours = record.settings.get("attention", {})
    theirs = {} if papers is None else papers["attention"]
    return all(ours.get(key, value) == value for key, value in theirs.items() if type(value) in (int, float))
