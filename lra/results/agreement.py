"""Measure by rank correlation, for each task, whether a shortened benchmark ranks attentions as published ones are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lra.results.reference import REFERENCES
from lra.results.schema import Record
from lra.results.variants import accuracies_by_task

LEAST_ATTENTIONS = 3
RESAMPLES = 1000


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
    """Compare the measured order of attentions, by mean accuracy over seeds, with the published order.

    Args:
        measured: the accuracies of each attention's seeds.
        published: one accuracy for each attention.
    """
    from scipy.stats import kendalltau  # imported here, because it takes a second and most tables do not need it

    assert len(measured) == len(published) >= LEAST_ATTENTIONS
    exact = kendalltau([np.mean(seeds) for seeds in measured], published)
    low = high = None
    if min(map(len, measured)) > 1:
        rng = np.random.default_rng(0)
        means = np.stack([rng.choice(seeds, (RESAMPLES, len(seeds))).mean(1) for seeds in measured], axis=1)
        resampled = [kendalltau(row, published).statistic for row in means]
        low, high = map(float, np.nanquantile(resampled, (0.025, 0.975)))
    return RankAgreement(
        tau=float(exact.statistic),
        low=low,
        high=high,
        p_value=float(exact.pvalue),
        attentions=len(measured),
    )


def agreement_by_task(records: Sequence[Record], *, reference: str) -> Mapping[str, RankAgreement]:
    """Compute the agreement with a published order for each task with at least three of its attentions.

    Only rows named by an attention alone count: a row with a setting in its name differs from the published model.

    Args:
        records: of one size and protocol.
        reference: the source of the published accuracies, a key of `REFERENCES`.
    """
    published = REFERENCES[reference]
    known = {
        task: {name: seeds for name, seeds in by_name.items() if task in published.get(name, {})}
        for task, by_name in accuracies_by_task(records).items()
    }
    return {
        task: rank_agreement(list(by_name.values()), [published[name][task] for name in by_name])
        for task, by_name in known.items()
        if len(by_name) >= LEAST_ATTENTIONS and len({np.mean(seeds) for seeds in by_name.values()}) > 1
    }
