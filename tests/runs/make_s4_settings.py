"""Write `lra/runs/s4_settings.json` from `conf/`: python -m tests.runs.make_s4_settings."""

import json
from pathlib import Path
from typing import Any

import lra.runs
from lra.runs.published_numbers import TASKS
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings

S4 = Path(lra.runs.__file__).with_name("s4_settings.json")


def settings_of(task: str, init: str = "legs") -> dict[str, Any]:
    """The settings of a run of S4D as its record has them."""
    cfg = load_config("train", [f"task={task}", "protocol=s4", "mixer=s4d", f"mixer.init={init}"])
    settings: dict[str, Any] = json.loads(json.dumps(hashed_settings(cfg)))
    return settings


def s4_settings() -> dict[str, dict[str, Any]]:
    """The settings for each task: not for Path-X, of which the authors had ten times as many images."""
    return {task: settings_of(task) for task in TASKS}


if __name__ == "__main__":
    lines = ",\n".join(f"{json.dumps(task)}: {json.dumps(of_task)}" for task, of_task in s4_settings().items())
    S4.write_text(f"{{{lines}}}\n", encoding="utf-8")
