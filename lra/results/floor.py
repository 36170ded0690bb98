"""Which methods are no better than the floor: the same model with `attention=none`, which mixes no tokens."""

from __future__ import annotations

from lra.results.reference import in_order
from lra.results.schema import Record
from lra.results.statistics import LEAST_SEEDS_FOR_T, paired_t
from lra.results.variants import group_by_variant

FLOOR = "none"


def not_above_floor(records: list[Record]) -> dict[str, list[str]]:
    """Name by task the variants whose accuracy is not above that of `none` beyond the noise between seeds.

    The difference is paired by seed; its interval is Student's, of 95 %. Variants with fewer than three seeds in common
    with `none` are not judged.
    """
    found = {}
    for task in in_order({record["identity"]["task"] for record in records}):
        of_task = [record for record in records if record["identity"]["task"] == task]
        by_variant = {
            name: {record["identity"]["seed"]: record["outcome"]["test_accuracy"] for record in members}
            for name, members in group_by_variant(of_task).items()
        }
        floor = by_variant.pop(FLOOR, {})
        found[task] = [name for name, seeds in by_variant.items() if _not_above(seeds, floor)]
    return {task: names for task, names in found.items() if names}


def _not_above(seeds: dict[int, float], floor: dict[int, float]) -> bool:
    both = sorted(seeds.keys() & floor.keys())
    if len(both) < LEAST_SEEDS_FOR_T:
        return False
    return paired_t([seeds[seed] for seed in both], [floor[seed] for seed in both]).low <= 0
