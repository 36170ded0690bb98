"""The Pareto front of a comparison, among what differs significantly."""

from __future__ import annotations

from lra.results.comparison import Contender
from lra.results.statistics import LEAST_SEEDS_FOR_T, paired_t


def pareto_front(compared: list[Contender]) -> list[Contender]:
    """Select the fastest contender, and each slower one that is more accurate than all faster ones on the front.

    More accurate means significantly: the interval over the seeds that both have (Student's paired t, 95 %) lies above
    0. Contenders with fewer seeds than that needs are left out, and those of which some seeds alone converged. Fewer
    than two others: there is no front.
    """
    judged = [
        contender
        for contender in compared
        if len(contender.accuracies) >= LEAST_SEEDS_FOR_T and not contender.cell.of_two_kinds
    ]
    if len(judged) < 2:
        return []
    ordered = sorted(judged, key=lambda contender: -contender.cell.steps_per_second)
    front: list[Contender] = []
    for contender in ordered:
        if all(_is_clearly_better(contender, faster) for faster in front):
            front.append(contender)
    return front


def _is_clearly_better(first: Contender, second: Contender) -> bool:
    seeds = sorted(first.accuracies.keys() & second.accuracies.keys())
    if len(seeds) < LEAST_SEEDS_FOR_T:
        return False
    better, worse = ([contender.accuracies[seed] for seed in seeds] for contender in (first, second))
    return paired_t(better, worse).low > 0
