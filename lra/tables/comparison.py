"""Compare variants on one task with a baseline: differences with confidence intervals, over seeds and test examples."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lra.base.text import MISSING
from lra.runs.flat_settings import flatten
from lra.runs.record import unpack_correct
from lra.runs.schema import MIXERS, Record
from lra.tables.cells import Row, TableCell, make_rows
from lra.tables.seeds_needed import cannot_tell, few_seeds
from lra.tables.statistics.estimators import LEAST_SEEDS_FOR_T, Interval, paired_bootstrap
from lra.tables.statistics.significance import Comparison, Pair, Seeds, compare, significant, significant_pairs
from lra.tables.variants import RowKey

SIGNIFICANT = {True: "significant", False: "n.s."}


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
    records: list[Record],
    baseline: RowKey | None = None,
    *,
    methods: Sequence[str] = (),
    among: Collection[RowKey] | None = None,
) -> list[Contender]:
    """Make a contender of each row of one task's records; the baseline, else the first row, comes first.

    Rows of `methods` come next, in this order, then all others by name. `among` are the only rows, if given.
    """
    rows = [row for row in make_rows(records) if among is None or row.key in among]
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


def not_below_the_best(cells: Mapping[str, TableCell]) -> set[str]:
    """Name the cells that are not significantly below the best of those that can be compared; none of one cell."""
    seeds = seeds_of_rows(cells)
    if len(seeds) < 2:
        return set()
    pairs = significant_pairs(seeds)
    best = max(seeds, key=lambda name: sum(seeds[name]) / len(seeds[name]))
    return {name for name in seeds if Pair(best, name) not in pairs}


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
