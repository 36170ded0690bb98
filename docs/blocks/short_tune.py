"""Blocks on the search of `lra tune` with the short recipes, and on the table of the best configurations."""

from docs.blocks.markdown import prose, table_printed
from docs.blocks.published import records
from docs.blocks.two_tables import TwoTables
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


def accuracies() -> str:
    """The accuracy table of the best configurations."""
    return table_printed(TABLE.format(task=",".join(tasks())))()


def hours() -> str:
    """What the runs took."""
    took = [sum(each["cost"]["train_seconds"] for each in records(name)) / 3600 for name in (TRIALS, FILE)]
    searches, table = (f"{hours:.1f}" for hours in took)
    return prose(f"The searches took {searches} hours of one thread in all, the table {table}, beside other work.")
