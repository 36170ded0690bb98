"""Blocks on the short table of protocol=s4: its search, and whether its recipes change the order of methods."""

import itertools
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from docs.blocks.markdown import joined, prose, table, verdict
from docs.blocks.published import accuracy, by_cell, records
from lra.results.reference import in_benchmark_order
from lra.results.significance import Pair, significant_pairs
from lra.results.statistics import LEAST_SEEDS_FOR_T
from lra.results.tables import MISSING, number
from lra.results.task_statistics import rank_agreement
from lra.runs.schema import Record
from lra.settings.config import load_config
from lra.verbs.show_choices import choices

SHORT = ("protocol=s4", "size=short")
SEARCH, FILE = "short_s4_search", "short_s4_table"
TABLE = "table show protocol=s4 size=short task=listops,image mixer.init=legs run_group=published/short_s4_table.jsonl"
TABLES = {"paper": "short_table", "s4": FILE}  # by protocol
Accuracies = dict[str, list[float]]  # in percent, by method, over seeds


def rates() -> str:
    """Best dev accuracies of the search, by task, method and learning rate; of runs with the chosen steps."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for record in records(SEARCH):
        identity = record["identity"]
        recipe: Mapping[str, Any] = record["settings"]["recipe"]
        if recipe["steps"] != load_config("train", [*SHORT, f"task={identity['task']}"]).recipe.steps:
            continue
        best = f"{100 * record['outcome']['best_dev_accuracy']:.2f}"
        of_method = found.setdefault((identity["task"], identity["attention"]), {})
        of_method[recipe["optimizer"]["lr"]] = best
    columns = sorted({rate for of_method in found.values() for rate in of_method})
    rows = [
        (task, method, *(found[task, method].get(rate, MISSING) for rate in columns)) for task, method in sorted(found)
    ]
    return table(("task", "method", *(f"{rate:g}" for rate in columns)), rows)


def hours() -> str:
    """What the runs took, and which are still to be run."""
    took = [sum(each["cost"]["train_seconds"] for each in records(name)) for name in (SEARCH, FILE)]
    times = [f"{seconds / 60:.0f} minutes" for seconds in took]
    there = by_cell(FILE)
    rows = itertools.product(("listops", "image"), ("s4d", "full", "nystrom", "none"))
    seeds = {row: [str(seed) for seed in range(3) if (*row, seed) not in there] for row in rows}
    missing = [f"{' '.join(row)} (seed {joined(lacking)})" for row, lacking in seeds.items() if lacking]
    said = f" Of 24 runs {24 - len(there)} are still to be run: {'; '.join(missing)}." if missing else ""
    return prose(f"The search took {times[0]} of one thread in all, the table {times[1]}, beside other work.{said}")


def orders() -> str:
    """The methods from the best to the worst under both protocols, and how alike the two orders are."""
    by_protocol = {protocol: _accuracies(records(name)) for protocol, name in TABLES.items()}
    rows, said = [], []
    for task in in_benchmark_order(by_protocol["s4"]):
        new = by_protocol["s4"][task]
        old = {method: by_protocol["paper"][task][method] for method in new}
        order = rank_agreement(list(new.values()), [statistics.fmean(seeds) for seeds in old.values()])
        tau = f"{order.tau:+.2f}" + ("" if order.low is None else f" [{order.low:+.2f}, {order.high:+.2f}]")
        rows.append((task, _in_order(old), _in_order(new), tau.replace("-", "−"), verdict(order.p_value, ".2f")))
        alike = "the same order of means" if order.tau == 1 else "another order of means"
        said.append(f"**{choices('task')[task]['display']}: {alike}**; {change_of_order(old, new)}.")
    columns = ("task", "`protocol=paper`", "`protocol=s4`", "τ [95 % of resampled seeds]", "p")
    return "\n\n".join([table(columns, rows), *map(prose, said)])


def _accuracies(found: Iterable[Record]) -> dict[str, Accuracies]:
    """The test accuracies by task and method."""
    by_task: dict[str, Accuracies] = {}
    for record in sorted(found, key=lambda record: record["identity"]["seed"]):
        identity = record["identity"]
        by_task.setdefault(identity["task"], {}).setdefault(identity["attention"], []).append(accuracy(record))
    return by_task


def _in_order(seeds: Accuracies) -> str:
    means = {method: statistics.fmean(values) for method, values in seeds.items()}
    return ", ".join(f"{method} {means[method]:.2f}" for method in sorted(means, key=means.__getitem__, reverse=True))


def change_of_order(old: Accuracies, new: Accuracies) -> str:
    """Say which pairs of methods are significantly in the opposite order, and which in one of the tables alone."""
    few = sorted(method for method in old if min(len(old[method]), len(new[method])) < LEAST_SEEDS_FOR_T)
    if few:
        return f"pairs are not tested, because {joined(few)} {'have' if few[1:] else 'has'} fewer than three seeds"
    before, after = significant_pairs(old), significant_pairs(new)
    turned = {pair for pair in after if Pair(pair.worse, pair.better) in before}
    kinds = {
        "significantly in the opposite order": turned,
        "significantly in the same order under both": before & after,
        "significant under `protocol=s4` alone": after - before - turned,
        "significant under `protocol=paper` alone": {
            pair for pair in before - after if Pair(pair.worse, pair.better) not in after
        },
    }
    total = len(old) * (len(old) - 1) // 2
    return f"of {total} pairs of methods, " + "; ".join(
        f"{len(pairs)} {said}" + (f" ({joined(f'{a} above {b}' for a, b in sorted(pairs))})" if pairs else "")
        for said, pairs in kinds.items()
    )


def gains() -> str:
    """By how many points each method gains from the family's models and recipes."""
    by_protocol = {protocol: _accuracies(records(name)) for protocol, name in TABLES.items()}
    tasks = in_benchmark_order(by_protocol["s4"])
    rows = []
    for method in sorted({method for task in tasks for method in by_protocol["s4"][task]}):
        cells = []
        for task in tasks:
            old, new = (by_protocol[protocol][task].get(method) for protocol in ("paper", "s4"))
            gain = None if old is None or new is None else statistics.fmean(new) - statistics.fmean(old)
            cells.append(number(gain, sign=True))
        rows.append((f"`{method}`", *cells))
    return table(("method", *tasks), rows)
