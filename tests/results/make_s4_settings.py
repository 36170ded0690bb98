"""Write the hashes of the settings of `protocol=s4` whose accuracies S4D's authors published.

.venv/bin/python -m tests.results.make_s4_settings
"""

from __future__ import annotations

import json

from lra.results.paper import FILE
from lra.results.reference import TASKS
from lra.runs.flatten_settings import hash_of
from lra.settings import config

S4 = FILE.with_name("s4_settings.json")
INITS = {"s4d": "legs", "s4d (init=inv)": "inv", "s4d (init=lin)": "lin"}


def settings_of(task: str, init: str) -> dict[str, object]:
    """The settings of a run as its record has them."""
    cfg = config.load_config("train", [f"task={task}", "protocol=s4", "mixer=s4d", f"mixer.init={init}"])
    settings: dict[str, object] = json.loads(json.dumps(config.settings(cfg)))
    return settings


def s4_settings() -> dict[str, dict[str, str]]:
    """For each task, the hash of the settings without the trainer's, and the name of the published row."""
    hashes: dict[str, dict[str, str]] = {}
    for method, init in INITS.items():
        for task in TASKS:  # not Path-X, of which the authors had ten times as many images
            without = {group: options for group, options in settings_of(task, init).items() if group != "trainer"}
            hashes.setdefault(task, {})[hash_of(without)] = method
    return hashes


if __name__ == "__main__":
    S4.write_text(json.dumps(s4_settings(), indent=1) + "\n", encoding="utf-8")
