"""Blocks on the short table of protocol=s4: its search, and what its recipes change."""

import itertools
from collections.abc import Mapping
from typing import Any

from docs.blocks.markdown import joined, prose, table
from docs.blocks.published import by_cell, records
from docs.blocks.two_tables import TwoTables
from lra.base.text import MISSING

SEARCH, FILE = "short_s4_search", "short_s4_table"
TABLE = "table show protocol=s4 size=short task=listops,image mixer.init=legs run_group=published/short_s4_table.jsonl"
TABLES = TwoTables(("short_table", FILE), ("with `protocol=paper`", "with `protocol=s4`"))


def rates() -> str:
    """Best dev accuracies of the search, by task, method and learning rate."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for record in records(SEARCH):
        identity = record.identity
        recipe: Mapping[str, Any] = record.settings["recipe"]
        best = f"{100 * record.best_dev_accuracy:.2f}"
        of_method = found.setdefault((identity["task"], identity["attention"]), {})
        of_method[recipe["optimizer"]["lr"]] = best
    columns = sorted({rate for of_method in found.values() for rate in of_method})
    rows = [
        (task, method, *(found[task, method].get(rate, MISSING) for rate in columns)) for task, method in sorted(found)
    ]
    return table(("task", "method", *(f"{rate:g}" for rate in columns)), rows)


def hours() -> str:
    """What the runs took, and which are still to be run."""
    took = [sum(each.train_seconds for each in records(name)) for name in (SEARCH, FILE)]
    times = [f"{seconds / 60:.0f} minutes" for seconds in took]
    there = by_cell(FILE)
    rows = itertools.product(("listops", "image"), ("s4d", "full", "nystrom", "none"))
    seeds = {row: [str(seed) for seed in range(3) if (*row, seed) not in there] for row in rows}
    missing = [f"{' '.join(row)} (seed {joined(lacking)})" for row, lacking in seeds.items() if lacking]
    said = f" Of 24 runs {24 - len(there)} are still to be run: {'; '.join(missing)}." if missing else ""
    return prose(f"The search took {times[0]} of one thread in all, the table {times[1]}, beside other work.{said}")
