"""How well a task tells attentions apart: the spread between them over the noise between seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lra.results.schema import Record
from lra.results.variants import accuracies_by_task

LEAST_SEEDS = 2


@dataclass(frozen=True, kw_only=True)
class Discrimination:
    """One-way analysis of variance of test accuracies; spreads in percentage points.

    Attributes:
        between: standard deviation of the attentions' means.
        within: standard deviation over seeds, pooled over attentions.
        p_value: of means at least as far apart by chance (F test).
        best, worst: the attentions with the highest and the lowest mean.
    """

    between: float
    within: float
    p_value: float
    best: str
    worst: str

    def __str__(self) -> str:
        """`2.10 / 0.40 = 5.2, p = 0.001 (best nystrom, worst none)`."""
        if not self.between:
            return "all alike"
        ratio = self.between / self.within if self.within else math.inf
        ends = f"best {self.best}, worst {self.worst}"
        return f"{self.between:.2f} / {self.within:.2f} = {ratio:.1f}, p = {self.p_value:.2g} ({ends})"


def discrimination(accuracies: Mapping[str, Sequence[float]]) -> Discrimination:
    """Compare two attentions or more, each with the accuracies (fractions) of two seeds or more."""
    from scipy.special import fdtrc  # the F distribution's upper tail, without the second that scipy.stats takes

    assert len(accuracies) > 1
    assert all(len(seeds) >= LEAST_SEEDS for seeds in accuracies.values())
    means = {name: float(np.mean(seeds)) for name, seeds in accuracies.items()}
    alike = len({accuracy for seeds in accuracies.values() for accuracy in seeds}) == 1
    counts = [len(seeds) for seeds in accuracies.values()]
    overall = np.average(list(means.values()), weights=counts)
    between = sum(count * (mean - overall) ** 2 for count, mean in zip(counts, means.values(), strict=True))
    within = sum(float(((np.asarray(seeds) - means[name]) ** 2).sum()) for name, seeds in accuracies.items())
    groups, rest = len(means) - 1, sum(counts) - len(means)
    return Discrimination(
        between=0.0 if alike else 100 * float(np.std(list(means.values()), ddof=1)),
        within=100 * math.sqrt(within / rest),
        p_value=float(fdtrc(groups, rest, (between / groups) / (within / rest))) if within else float(alike),
        best=max(means, key=lambda name: means[name]),
        worst=min(means, key=lambda name: means[name]),
    )


def discrimination_by_task(records: Sequence[Record]) -> Mapping[str, Discrimination]:
    """By task; variants with one seed are left out, and tasks with fewer than two variants."""
    several = {
        task: {name: seeds for name, seeds in by_name.items() if len(seeds) >= LEAST_SEEDS}
        for task, by_name in accuracies_by_task(records).items()
    }
    return {task: discrimination(by_name) for task, by_name in several.items() if len(by_name) > 1}
