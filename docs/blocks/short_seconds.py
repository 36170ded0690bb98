"""Blocks on the seconds of the short table, and on the runs that were trained again for them."""

from docs.blocks.markdown import ends, joined, prose
from docs.blocks.published import LOST, accuracy, by_cell
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.schema import Record


def seconds() -> str:
    """Runs that were trained again, the two machines, and lost commits."""
    before = by_cell("short_earlier")
    apart = {task: largest_difference(task) for task in in_benchmark_order(task for task, _, _ in before)}
    again = prose(
        f"The two accuracies differ by at most {joined(f'{points:.2f} ({task})' for task, points in apart.items())}"
        " points."
    )
    return f"{again}\n\n{_machines()}\n\n{_lost()}"


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
        "ListOps was trained on one machine, the other tasks on a slower one. On the slower machine"
        f" {len(slower)} cells of ListOps took"
        f" {ends((_seconds(record) / _seconds(now[cell]) for cell, record in slower.items()), '.2f')}× as long"
        " (`runs/published/short_machine.jsonl`). So compare seconds within a task, not between ListOps and others."
    )


def _lost() -> str:
    """What names a commit that nobody can look at."""
    now, before = by_cell("short_table"), by_cell("short_earlier")
    named, replaced = (
        [cell for cell, record in of.items() if record.provenance["git_commit"] in LOST] for of in (now, before)
    )
    apart = [abs(_apart(before[cell], now[cell])) for cell in replaced]
    return prose(
        f"{len(named)} records name a commit that is missing from the repository's history: seeds 1 and 2 of nine"
        f" attentions on Image and Pathfinder. {len(replaced)} records of seed 0 did too, until these runs were trained"
        f" again. Their accuracies changed by at most {max(apart):.2f} points."
    )


def _seconds(record: Record) -> float:
    return record.train_seconds


def _apart(before: Record, now: Record) -> float:
    return accuracy(now) - accuracy(before)
