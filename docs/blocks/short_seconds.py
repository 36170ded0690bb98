"""Blocks on the seconds of the short table, and on the runs that were trained again for them."""

from __future__ import annotations

from docs.blocks.markdown import ends, prose, table
from docs.blocks.published import LOST, accuracy, by_cell
from docs.blocks.short_plan import planned_seconds
from lra.results.reference import in_order
from lra.results.schema import Record


def seconds() -> str:
    """Seed 0 of each task beside its earlier run, the plan, and the other seeds; machines; lost commits."""
    now, before = by_cell("short_table"), by_cell("short_earlier")
    rows = []
    for task in in_order(task for task, _, _ in before):
        names = [name for of, name, seed in before if (of, seed) == (task, 0)]
        pairs = {name: (before[task, name, 0], now[task, name, 0]) for name in names}
        same = [name for name, pair in pairs.items() if len({_right(record) for record in pair}) == 1]
        most = max(names, key=lambda name: abs(_apart(*pairs[name])))
        ended = " → ".join(f"{accuracy(record):.2f}" for record in pairs[most])
        first = [name for name in names if _fastest(now, task, name) == 0]
        planned = [_seconds(record) / planned_seconds(record, test=False) for _, record in pairs.values()]
        rows.append(
            (
                task,
                f"{len(same)} of {len(names)}",
                f"{abs(_apart(*pairs[most])):.2f} ({most}: {ended})",
                ends(planned),
                f"{len(first)} of {len(names)}",
            )
        )
        columns = ("task", "rows with the same test examples right", "accuracies at most apart, points")
    made = table((*columns, "seconds / those of `lra table plan`", "seed 0 is the fastest"), rows)
    return f"{made}\n\n{_machines()}\n\n{_lost()}"


def largest_difference(task: str) -> float:
    """By how many points the accuracies of seed 0 differ at most, when it was trained again."""
    now, before = by_cell("short_table"), by_cell("short_earlier")
    return max(abs(_apart(record, now[cell])) for cell, record in before.items() if cell[0] == task)


def _machines() -> str:
    """The same cells on both machines."""

    now, slower = by_cell("short_table"), by_cell("short_machine")
    (task,) = {task for task, _, _ in slower}
    assert task == "listops"
    return prose(
        "The plan and the ListOps runs are of one machine, the other tasks of another, which is slower: it took"
        f" {ends(_seconds(record) / _seconds(now[cell]) for cell, record in slower.items())} times as long for"
        f" {len(slower)} cells of ListOps (`runs/published/short_machine.jsonl`). So the seconds of one task can be"
        " compared with each other, but not with those of another task."
    )


def _lost() -> str:
    """What names a commit that nobody can look at."""
    now, before = by_cell("short_table"), by_cell("short_earlier")
    named, replaced = (
        [cell for cell, record in of.items() if record["provenance"]["git_commit"] in LOST] for of in (now, before)
    )
    apart = [abs(_apart(before[cell], now[cell])) for cell in replaced]
    return prose(
        f"{len(named)} records, seeds 1 and 2 of nine attentions on Image and Pathfinder, name a commit that is not in"
        f" the history. {len(replaced)} records of seed 0 did too, before they were trained again: before and after"
        f" they are at most {max(apart):.2f} points apart."
    )


def _right(record: Record) -> str | None:
    return record["outcome"].get("test_correct")


def _seconds(record: Record) -> float:
    return record["cost"]["train_seconds"]


def _apart(before: Record, now: Record) -> float:
    return accuracy(now) - accuracy(before)


def _fastest(records: dict[tuple[str, str, int], Record], task: str, name: str) -> int:
    """The seed of a row that took the shortest time."""
    seeds = [seed for of, attention, seed in records if (of, attention) == (task, name)]
    return min(seeds, key=lambda seed: _seconds(records[task, name, seed]))
