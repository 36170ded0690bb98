"""Writes `lra/runs/paper_settings.json` from `conf/`: python -m tests.runs.make_paper_settings."""

import json
from pathlib import Path
from typing import Any

import lra.runs
from lra.runs.published_numbers import PAPER, TASKS
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings


def settings(task: str, attention: str) -> dict[str, Any]:
    """What `lra train` would hash for the paper's run."""
    return hashed_settings(
        load_config("train", [f"task={task}", f"attention={attention}", "protocol=paper", "size=full"])
    )


def make() -> dict[str, Any]:
    by_task = {task: settings(task, "nystrom") for task in TASKS}
    parts = {group: by_task[TASKS[0]][group] for group in ("protocol", "model", "size", "trainer")}
    for group in ("task", "recipe"):
        parts[group] = {task: found[group] for task, found in by_task.items()}
    parts["attention"] = {attention: settings(TASKS[0], attention)["attention"] for attention in sorted(PAPER)}
    return parts


if __name__ == "__main__":
    file = Path(lra.runs.__file__).with_name("paper_settings.json")
    file.write_text(json.dumps(make(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
