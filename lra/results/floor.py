"""Which methods are no better than the floor: the same model with `attention=none`, which mixes no tokens."""

from __future__ import annotations

from lra.results.comparison import over_seeds, pairs_by_seed
from lra.results.reference import in_order
from lra.results.schema import Record
from lra.results.statistics import Interval
from lra.results.variants import group_by_variant

FLOOR = "none"


def not_above_floor(records: list[Record]) -> dict[str, list[str]]:
    """Name by task the variants whose accuracy is not above that of `none` beyond the noise between seeds.

    The difference is paired by seed; its interval is Student's, of 95 %. Variants with fewer than three seeds in common
    with `none` are not judged.
    """
    return {
        task: names
        for task, intervals in _above_floor(records).items()
        if (names := [name for name, interval in intervals.items() if interval is not None and interval.low <= 0])
    }


def not_judged(records: list[Record]) -> dict[str, list[str]]:
    """Name by task the variants with too few seeds in common with `none`; tasks without any `none` are left out."""
    return {
        task: names
        for task, intervals in _above_floor(records).items()
        if (names := [name for name, interval in intervals.items() if interval is None])
    }


def _above_floor(records: list[Record]) -> dict[str, dict[str, Interval | None]]:
    """By task and variant the accuracy above that of `none`; None for too few seeds."""
    found = {}
    for task in in_order({record["identity"]["task"] for record in records}):
        groups = group_by_variant(record for record in records if record["identity"]["task"] == task)
        if floor := groups.pop(FLOOR, []):
            found[task] = {name: over_seeds(pairs_by_seed(members, floor)) for name, members in groups.items()}
    return found
