"""Which methods are no better than the floor: the same model with `attention=none`, which mixes no tokens."""

from __future__ import annotations

from collections import defaultdict

from lra.results.comparison import over_seeds, pairs_by_seed
from lra.results.schema import Record
from lra.results.statistics import Interval
from lra.results.variants import rows_by_task, settings_beside_the_mixer

FLOOR = "none"
AboveFloor = dict[str, dict[str, Interval | None]]  # by task and row of the table, see `above_floor`


def not_above_floor(above: AboveFloor) -> dict[str, list[str]]:
    """Name by task the table's rows whose accuracy is not above that of `none` beyond the noise between seeds.

    The difference is paired by seed; its interval is Student's, of 95 %, not corrected for the number of rows.
    """
    return {
        task: names
        for task, intervals in above.items()
        if (names := [name for name, interval in intervals.items() if interval is not None and interval.low <= 0])
    }


def not_judged(above: AboveFloor) -> dict[str, list[str]]:
    """Name by task the rows with fewer than three seeds in common with `none` of the same settings.

    Tasks without any `none` are left out.
    """
    return {
        task: names
        for task, intervals in above.items()
        if (names := [name for name, interval in intervals.items() if interval is None])
    }


def above_floor(records: list[Record]) -> AboveFloor:
    """By task and row the accuracy above that of `none` with the same other settings; None for too few seeds."""
    beside = settings_beside_the_mixer(records)
    found: AboveFloor = {}
    for task, rows in rows_by_task(records).items():
        floors: dict[str, list[Record]] = defaultdict(list)
        for record in (record for members in rows.values() for record in members):
            if record["identity"]["attention"] == FLOOR:
                floors[beside[id(record)]].append(record)
        if floors:
            found[task] = {
                name: over_seeds(pairs_by_seed(members, floors[beside[id(members[0])]]))
                for name, members in rows.items()
                if members[0]["identity"]["attention"] != FLOOR
            }
    return found
