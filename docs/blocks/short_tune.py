"""Blocks on the search of `lra tune` with the short recipes, and on the table of the best configurations."""

from collections import Counter

from docs.blocks.markdown import prose, table, table_printed
from docs.blocks.published import by_task
from docs.blocks.two_tables import TwoTables
from lra.runs import convergence
from lra.runs.schema import Record

TRIALS, FILE = "short_tune", "short_tuned"
METHODS = ("nystrom", "full", "linformer", "performer", "local")
TABLE = f"table show recipe=tuned size=short task={{task}} run_group=published/{FILE}.jsonl"
TABLES = TwoTables(("short_table", FILE), ("before tuning", "after tuning"))


def command(task: str) -> str:
    """The command that shows a task's search, and draws its figure."""
    return f"tune show run_group=published/{TRIALS}.jsonl size=short task={task} attention={','.join(METHODS)}"


def trials() -> dict[str, list[Record]]:
    """The trials of each task whose search is finished: every method has tried the same number of points."""
    found = by_task(TRIALS)
    tried = {task: Counter(each.method for each in of_task) for task, of_task in found.items()}
    return {task: found[task] for task in found if len({tried[task][method] for method in METHODS}) == 1}


def best() -> str:
    """The best configuration of each method, by task."""
    return "\n\n".join(f"{task}:\n\n{table_printed(command(task))()}" for task in trials())


def converged() -> str:
    """How many trials of each method converged, by task."""
    rows = []
    for task, of_task in trials().items():
        counts = Counter(each.method for each in of_task if convergence.converged(each))
        rows.append((task, *(str(counts[method]) for method in METHODS)))
    return table(("trials that converged", *(f"`{method}`" for method in METHODS)), rows)


def accuracies() -> str:
    """The accuracy table of the best configurations."""
    return table_printed(TABLE.format(task=",".join(by_task(FILE))))()


def hours() -> str:
    """What the searches took."""
    seconds = [each.train_seconds for of_task in trials().values() for each in of_task]
    took = sum(seconds) / 3600
    return prose(f"The {len(seconds)} trials took {took:.1f} hours of one thread in all, beside other work.")
