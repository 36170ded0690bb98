"""The row that others are compared with: one rule for comparisons, tables and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lra.runs.flatten_settings import flat
from lra.runs.schema import MIXERS, Record


def baseline_row(rows: Mapping[str, list[Record]], asked: Mapping[str, Any]) -> str | None:
    """Choose among the rows of a method: the one nearest to the asked settings, then the one with most seeds.

    Nearest is the row with the fewest options of the method, then with the fewest other settings, that differ; among
    rows that are alike in all of this the first counts.

    Args:
        rows: the rows that may be chosen, all of one method or of none.
        asked: settings by group, as those of a run: the default options where a user asks for no others. Groups that
            are not there are not compared.

    Returns:
        The row's name; None without rows.
    """
    if not rows:
        return None
    wanted = set(flat(asked).items())

    def rank(name: str) -> tuple[int, int, int]:
        settings = rows[name][0]["settings"]
        mine = set(flat({group: value for group, value in settings.items() if group in asked}).items())
        differing = {key for key, _ in wanted ^ mine}
        of_method = sum(key.split(".")[0] in MIXERS for key in differing)
        return of_method, len(differing) - of_method, -len(rows[name])

    return min(rows, key=rank)


def rows_of(method: str, rows: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
    """The rows of an attention or mixer."""
    return {name: members for name, members in rows.items() if members[0]["identity"]["attention"] == method}
