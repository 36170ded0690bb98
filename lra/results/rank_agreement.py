"""Measure by rank correlation, for each task, whether a shortened benchmark ranks attentions as published ones are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lra.results.baseline import baseline_row, rows_of
from lra.results.paper import paper_attention, paper_settings
from lra.results.rank_tests import kendall, kendall_taus
from lra.results.reference import REFERENCES, in_order
from lra.results.variants import accuracies, group_by_variant, settings_beside_the_mixer
from lra.runs.schema import Record

LEAST_ATTENTIONS = 3
RESAMPLES = 1000
DIGITS = 7  # of a mean accuracy: float32 tells apart what the counts of right answers do not


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
    assert len(measured) == len(published) >= LEAST_ATTENTIONS
    tau, p_value = kendall([_mean(seeds) for seeds in measured], published)
    low = high = None
    if min(map(len, measured)) > 1:
        rng = np.random.default_rng(0)
        drawn = [rng.choice(seeds, (RESAMPLES, len(seeds))).mean(1) for seeds in measured]
        means = np.round(np.stack(drawn, axis=1), DIGITS)
        low, high = map(float, np.nanquantile(kendall_taus(means, published), (0.025, 0.975)))
    return RankAgreement(
        tau=tau,
        low=low,
        high=high,
        p_value=p_value,
        attentions=len(measured),
    )


def _mean(seeds: Sequence[float]) -> float:
    return round(float(np.mean(seeds)), DIGITS)


def agreement_by_task(records: Sequence[Record], *, reference: str) -> Mapping[str, RankAgreement]:
    """Compute the agreement with a published order for each task with at least three of its attentions.

    An attention counts with its row of default options and the usual other settings; those of the paper's attentions
    have the paper's numbers of landmarks, features and so on.

    Args:
        records: of one size and protocol.
        reference: the source of the published accuracies, a key of `REFERENCES`.
    """
    found = {}
    for task in in_order({record["identity"]["task"] for record in records}):
        mine = [record for record in records if record["identity"]["task"] == task and _has_the_papers_numbers(record)]
        others = settings_beside_the_mixer(mine)
        rows = group_by_variant(record for record in mine if not others[id(record)])
        published = {name: row[task] for name, row in REFERENCES[reference].items() if task in row}
        chosen = {
            name: baseline_row(rows_of(name, rows), {"attention": paper_attention(name)}) for name in sorted(published)
        }
        known = {name: accuracies(rows[row]) for name, row in chosen.items() if row is not None}
        if len(known) >= LEAST_ATTENTIONS and len(set(map(_mean, known.values()))) > 1:
            found[task] = rank_agreement(list(known.values()), [published[name] for name in known])
    return found


def _has_the_papers_numbers(record: Record) -> bool:
    """Whether the numbers among the attention's settings are the paper's; its words belong to the protocol."""
    papers = paper_settings(record["identity"]["task"], record["identity"]["attention"])
    mine = record["settings"].get("attention", {})
    theirs = {} if papers is None else papers["attention"]
    return all(mine.get(key, value) == value for key, value in theirs.items() if type(value) in (int, float))
