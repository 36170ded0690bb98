"""Blocks on the sweep over the width of local attention: how long the ranges of the short tasks are."""

from docs.blocks.markdown import table
from docs.blocks.published import by_task
from lra.base.text import MISSING, number
from lra.settings.compose import load_config
from lra.tables.attention_sweep import EXACT, WINDOW, sweep_points, sweep_ranges
from lra.tables.task_statistics import NO_ATTENTION

FILE = "short_window"


def command(task: str) -> str:
    """The command that shows a task's sweep, and draws its figure."""
    return f"sweep window show run_group=published/{FILE}.jsonl size=short task={task}"


def accuracies() -> str:
    """The accuracies of each task by width, between those without mixing and of exact attention."""
    swept = {task: sweep_points(of_task, WINDOW) for task, of_task in by_task(FILE).items()}
    cells: dict[str, dict[str | int, str]] = {
        task: {point.number or point.method: str(point.cell) for point in points} for task, points in swept.items()
    }
    widths = sorted({point.number for points in swept.values() for point in points if point.number})
    columns: list[str | int] = [NO_ATTENTION, "average", *widths, EXACT]
    rows = [(task, *(of_task.get(column, MISSING) for column in columns)) for task, of_task in cells.items()]
    return table(("task", "`none`", "`average`", *(f"width {width}" for width in widths), "exact"), rows)


def ranges() -> str:
    """The range of each task, or why it has none."""
    rows = []
    for task, of_task in by_task(FILE).items():
        (found,) = sweep_ranges(sweep_points(of_task, WINDOW), WINDOW).values()
        length = load_config("train", ["size=short", f"task={task}"]).task.spec.seq_len
        gain = MISSING if found.gain is None else f"{number(found.gain, sign=True)} ± {number(found.error)}"
        rows.append((task, f"{length:,}", gain, str(found).partition(";")[0]))
    return table(("task", "positions", "exact − `none`, ± standard error", "range [95 %]"), rows)
