"""Blocks on the search of `lra tune` with the short recipes, and on the table of the best configurations."""

from docs.blocks.markdown import prose, table, table_printed
from docs.blocks.published import records
from docs.blocks.two_tables import TwoTables
from lra.results.dev_curves import convergence_step
from lra.results.reference import in_benchmark_order

TRIALS, FILE = "short_tune", "short_tuned"
METHODS = "nystrom,full,linformer,performer,local"
TABLE = f"table show recipe=tuned size=short task={{task}} run_group=published/{FILE}.jsonl"
TABLES = TwoTables(("short_table", FILE), ("before tuning", "after tuning"))


def command(task: str) -> str:
    """The command that shows a task's search, and draws its figure."""
    return f"tune show run_group=published/{TRIALS}.jsonl size=short task={task} attention={METHODS}"


def tasks() -> tuple[str, ...]:
    """The tasks with a search."""
    return in_benchmark_order(record["identity"]["task"] for record in records(TRIALS))


def best() -> str:
    """The best configuration of each method, by task."""
    return "\n\n".join(f"{task}:\n\n{table_printed(command(task))()}" for task in tasks())


def converged() -> str:
    """How many trials of each method converged, by task."""
    counts: dict[str, dict[str, int]] = {task: dict.fromkeys(METHODS.split(","), 0) for task in tasks()}
    for record in records(TRIALS):
        counts[record["identity"]["task"]][record["identity"]["attention"]] += convergence_step(record) is not None
    rows = [(task, *map(str, of_task.values())) for task, of_task in counts.items()]
    return table(("trials that converged", *(f"`{method}`" for method in METHODS.split(","))), rows)


def accuracies() -> str:
    """The accuracy table of the best configurations."""
    return table_printed(TABLE.format(task=",".join(tasks())))()


def hours() -> str:
    """What the searches took."""
    took = sum(each["cost"]["train_seconds"] for each in records(TRIALS)) / 3600
    return prose(f"The {len(records(TRIALS))} trials took {took:.1f} hours of one thread in all, beside other work.")
