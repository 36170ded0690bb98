"""Blocks on the runs of full size."""

import json
from collections import defaultdict
from collections.abc import Iterable

from docs.blocks.markdown import ends, interval, joined, percent, prose, table, table_printed
from docs.blocks.published import accuracy, records
from lra.base.text import MISSING, number
from lra.runs.convergence import converged, convergence_step
from lra.runs.published_numbers import PAPER, paper_accuracy
from lra.runs.schema import Record
from lra.tables.cells import TableCell, make_rows
from lra.tables.comparison import compare_over_seeds, verdict_over_seeds

TABLE = "table show run_group=published/listops.jsonl task=listops"


def means() -> str:
    """How much of the paper's table there is, and each attention beside the paper's number."""
    pairs = {(name, task) for name, tasks in PAPER.items() for task in tasks}
    there = {(record.method, record.task) for record in records("listops")}
    majority = ends(100 * record.majority_rate for record in records("listops"))
    said = prose(
        f"**Of the {len(pairs)} cells of the paper's table, {len(pairs & there)} have been run at full size so far**,"
        f" all on ListOps. The majority-class baseline is {majority} %."
    )
    return f"{said}\n\n{table_printed(TABLE)()}"


def runs() -> str:
    """Each full run, and what runs with earlier code ended at."""
    every = [
        (row.name, record)
        for row in make_rows(records("listops"))
        for record in sorted(row.records, key=lambda record: record.seed)
    ]
    rows = []
    for name, record in every:
        outcome, step = record.outcome, convergence_step(record)
        rows.append(
            (
                f"`{name}`",
                str(record.seed),
                percent(outcome["best_dev_accuracy"], 2),
                percent(outcome["test_accuracy"], 2),
                MISSING if step is None else f"{step:,}",
                f"{record.train_seconds / 3600:.1f} h",
            )
        )
    earlier = {record.seed: accuracy(record) for record in records("listops_earlier")}
    ended = joined(f"{earlier[seed]:.2f}" for seed in sorted(earlier))
    said = prose(
        f"Runs of Nyström's seeds {joined(map(str, sorted(earlier)))} with earlier versions of the code ended at"
        f" {ended} % (`runs/published/listops_earlier.jsonl`)."
    )
    columns = ("attention", "seed", "best dev", "test accuracy", "converged at step", "training")
    return f"{table(columns, rows)}\n\n{said}"


def converged_runs() -> str:
    """Between which accuracies the runs that converged end."""
    found = [record for record in records("listops") if converged(record)]
    others = [record for record in records("listops") if not converged(record)]
    return prose(
        f"Of the {len(found) + len(others)} full runs here {len(found)} converged and end at"
        f" {ends(map(accuracy, found))} %; the others end at {ends(map(accuracy, others))} %."
        if others
        else f"All {len(found)} full runs here converged and end at {ends(map(accuracy, found))} %."
    )


def brackets() -> str:
    """ListOps with and without its closing brackets: the same method, size and steps."""
    found = records("listops", "short_table", "short_landmarks_listops_600", "listops_brackets")
    dropped, kept = (_by_kind(each for each in found if _without_brackets(each) is there) for there in (True, False))
    rows = []
    for kind, members in dropped.items():
        size, name, steps, _ = kind
        cell, others = TableCell(members), kept.get(kind, [])
        beside = TableCell(others) if others else None
        pair = {"dropped": cell} | ({} if beside is None else {"kept": beside})
        both = compare_over_seeds(pair, "kept")
        rows.append(
            (
                f"`{name}`",
                f"`{size}`, {steps:,}",
                MISSING if beside is None else str(beside),
                str(cell),
                f"{cell.converged} of {cell.count}",
                MISSING
                if both is None
                else f"{interval(both.differences['dropped'])}, {verdict_over_seeds(both, pair, 'dropped', 'kept')}",
                number(paper_accuracy(name, "listops") if size == "full" else None),
            )
        )
    columns = ("attention", "size, steps", "brackets kept", "brackets dropped", "converged without them")
    return table((*columns, "difference over seeds", "paper"), rows)


def _by_kind(found: Iterable[Record]) -> dict[tuple[str, str, int, str], list[Record]]:
    """The ListOps runs by size, method, steps and the method's options."""
    kinds: dict[tuple[str, str, int, str], list[Record]] = defaultdict(list)
    for record in found:
        identity, options = record.identity, json.dumps(record.settings.get("attention"), sort_keys=True)
        if identity["task"] == "listops":
            kinds[identity["size"], identity["attention"], record.steps, options].append(record)
    return kinds


def _without_brackets(record: Record) -> bool:
    return record.settings["protocol"].get("listops_brackets") == "dropped"
