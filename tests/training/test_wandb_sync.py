"""`wandb sync` sends the whole curve of a run that was resumed: each process's folder after the one before it."""

import os
import subprocess
import sys

import pytest

from lra.cli import main
from lra.training.curves import COLUMNS
from tests.training.test_wandb_curves import TESTED, TRAIN, TRAINED
from tests.training.wandb_recorder import recording


def sync(folders, url, home) -> None:
    names = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    env = {**names, "WANDB_BASE_URL": url, "WANDB_API_KEY": "f" * 40, "HOME": str(home.parent), "NO_PROXY": "*"}
    words = [sys.executable, "-m", "wandb", "sync", *map(str, folders)]
    done = subprocess.run(words, env=env, cwd=home.parent, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
def test_both_parts_of_a_resumed_offline_run_arrive(home, together):
    """The rows of the second folder follow those of the first; wandb before 0.28.1 sent them over the first's."""
    assert main([*TRAIN, "trainer.max_steps=3"]) == 0
    assert main(TRAIN) == 0
    folders = sorted(home.rglob("wandb/offline-run-*"))
    assert len(folders) == 2
    with recording() as recorder:
        for part in [folders] if together else [[folder] for folder in folders]:
            sync(part, recorder.url, home)
    assert len(recorder.runs) == 1
    points = [
        (row["trainer/global_step"], name) for row in recorder.history for name in sorted(row.keys() & set(COLUMNS))
    ]
    assert points == TRAINED + TESTED
    before_resume = len({(step, name.startswith("dev")) for step, name in TRAINED if step <= 3})
    assert recorder.offsets[:1] == [0]
    assert before_resume in recorder.offsets
