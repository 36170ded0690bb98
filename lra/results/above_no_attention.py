"""Which methods are significantly better than the same model with `attention=none`, which mixes no tokens."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lra.results.rank_tests import ranks
from lra.results.statistics import LEAST_SEEDS_FOR_T, discoveries, pooled_t, variances_agree
from lra.results.variants import accuracies, rows_by_task, settings_beside_the_mixer
from lra.runs.schema import Record

NO_ATTENTION = "none"
RANKS, POOLED = "ranks", "pooled t"
TESTS = (
    "Two-sided, at a false discovery rate of 5 % in each task (Benjamini–Hochberg). pooled t: t test with the variance"
    " of all rows together, where Bartlett's test does not reject equal variances (p above 0.05); ranks: the same t"
    " test of the ranks (Conover–Iman), where it does."
)


@dataclass(frozen=True, kw_only=True)
class AboveNone:
    """One task's rows compared with `none` of the same other settings.

    Attributes:
        points: for each compared row the difference of its mean from that of `none`, in percentage points.
        above: the rows that are significantly above `none`, in the order of the table.
        tests: the tests that were used, `POOLED` or `RANKS`; both where rows of other settings have a `none` of theirs.
        not_compared: rows with fewer than three seeds, or whose `none` has fewer.
    """

    points: Mapping[str, float]
    above: tuple[str, ...]
    tests: tuple[str, ...]
    not_compared: tuple[str, ...]

    def __str__(self) -> str:
        """`2 of 5 by pooled t (full +1.07, nystrom +0.97)`; ranks have no points."""
        if not self.above:
            return f"0 of {len(self.points)} by {' and '.join(self.tests)}"
        pooled = self.tests == (POOLED,)
        names = [f"{name} {self.points[name]:+.2f}" if pooled else name for name in self.above]
        return f"{len(self.above)} of {len(self.points)} by {' and '.join(self.tests)} ({', '.join(names)})"


def above_no_attention(records: Sequence[Record]) -> dict[str, AboveNone]:
    """Compare each row of a table with `none`, by task; tasks without `none` are left out."""
    beside = settings_beside_the_mixer(list(records))
    found = {}
    for task, rows in rows_by_task(records).items():
        families: dict[str, dict[str, list[Record]]] = defaultdict(dict)  # rows that differ by the method alone
        for name, members in rows.items():
            families[beside[id(members[0])]][name] = members
        if any(_is_none(members) for members in rows.values()):
            found[task] = _above(list(families.values()))
    return found


def _above(families: list[dict[str, list[Record]]]) -> AboveNone:
    points: dict[str, float] = {}
    p_values: dict[str, float] = {}
    tests: set[str] = set()
    not_compared: list[str] = []
    for rows in families:
        seeds = {name: accuracies(members) for name, members in rows.items() if len(members) >= LEAST_SEEDS_FOR_T}
        floor = next((name for name in seeds if _is_none(rows[name])), None)
        others = [name for name in rows if not _is_none(rows[name])]
        compared = [name for name in others if floor is not None and name in seeds]
        not_compared += [name for name in others if name not in compared]
        if floor is None or not compared:
            continue
        agree = variances_agree(list(seeds.values()))
        tests.add(POOLED if agree else RANKS)
        measured = seeds if agree else dict(zip(seeds, map(list, ranks(list(seeds.values()))), strict=True))
        for name in compared:
            points[name] = 100 * (statistics.fmean(seeds[name]) - statistics.fmean(seeds[floor]))
            p_values[name] = pooled_t(measured, name, floor)
    significant = discoveries(list(p_values.values())) if p_values else []
    return AboveNone(
        points=points,
        above=tuple(name for name, yes in zip(p_values, significant, strict=True) if yes and points[name] > 0),
        tests=tuple(sorted(tests)),
        not_compared=tuple(not_compared),
    )


def _is_none(members: list[Record]) -> bool:
    return members[0]["identity"]["attention"] == NO_ATTENTION
