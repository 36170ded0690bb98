"""How well a task tells attentions apart: the standard deviation between them over that between seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lra.results.rank_tests import kruskal_wallis
from lra.results.variants import accuracies, rows_by_task
from lra.runs.schema import Record

LEAST_SEEDS = 2


@dataclass(frozen=True, kw_only=True)
class Discrimination:
    """One-way ANOVA of test accuracies, and the Kruskal–Wallis test of their ranks; spreads in percentage points.

    The ANOVA assumes normal accuracies with the same variance for all attentions. Where some seeds did not converge
    they have neither; the test of ranks assumes neither.

    Attributes:
        between: standard deviation of the attentions' means. Without any difference it is 1/√seeds of `within`.
        within: standard deviation over seeds, pooled over attentions.
        p_value: of the one-way ANOVA.
        rank_p_value: of the Kruskal–Wallis test.
        best, worst: the attentions with the highest and the lowest mean.
    """

    between: float
    within: float
    p_value: float
    rank_p_value: float
    best: str
    worst: str

    def __str__(self) -> str:
        """`2.10 / 0.40 = 5.2, p = 0.001 and 0.02 (best nystrom, worst none)`."""
        if not self.between and not self.within:
            return "all alike"
        ratio = self.between / self.within if self.within else math.inf
        ends = f"best {self.best}, worst {self.worst}"
        chances = f"p = {self.p_value:.2g} and {self.rank_p_value:.2g}"
        return f"{self.between:.2f} / {self.within:.2f} = {ratio:.1f}, {chances} ({ends})"


def discrimination(by_name: Mapping[str, Sequence[float]]) -> Discrimination:
    """Compare two attentions or more, each with the accuracies (fractions) of two seeds or more."""
    from scipy.special import fdtrc  # not scipy.stats, whose import takes longer than a whole table

    assert len(by_name) > 1
    assert all(len(seeds) >= LEAST_SEEDS for seeds in by_name.values())
    means = {name: statistics.mean(seeds) for name, seeds in by_name.items()}
    counts = [len(seeds) for seeds in by_name.values()]
    overall = np.average(list(means.values()), weights=counts)
    between = sum(count * (mean - overall) ** 2 for count, mean in zip(counts, means.values(), strict=True))
    within = sum((len(seeds) - 1) * statistics.variance(seeds) for seeds in by_name.values())  # exact: 0 if all agree
    spread, groups, rest = statistics.stdev(means.values()), len(means) - 1, sum(counts) - len(means)
    return Discrimination(
        between=100 * spread,
        within=100 * math.sqrt(within / rest),
        p_value=float(fdtrc(groups, rest, (between / groups) / (within / rest))) if within else float(not spread),
        rank_p_value=kruskal_wallis(list(by_name.values())) if within or spread else 1.0,
        best=max(means, key=lambda name: means[name]),
        worst=min(means, key=lambda name: means[name]),
    )


def discrimination_by_task(records: Sequence[Record]) -> Mapping[str, Discrimination]:
    """By task; variants with one seed are left out, and tasks with fewer than two variants."""
    several = {
        task: {name: accuracies(members) for name, members in rows.items() if len(members) >= LEAST_SEEDS}
        for task, rows in rows_by_task(records).items()
    }
    return {task: discrimination(by_name) for task, by_name in several.items() if len(by_name) > 1}
