"""Thousands of records of one run group: twenty methods and settings on every task, each with more and more seeds."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from lra.runs.published_numbers import TASKS
from lra.runs.record import pack_correct
from tests.tables.records import make_record, with_setting

METHODS = ("full", "nystrom", "linformer", "performer", "reformer", "none", "local", "linear", "skyformer", "average")
RATES = (1e-4, 2e-4)
ROWS = len(TASKS) * len(METHODS) * len(RATES)
PASSES = 20  # dev passes of a run
EXAMPLES = 2000


def write_records(path: Path, count: int) -> Path:
    """Write `count` records of size=short, a multiple of 100, as `lra publish` does."""
    assert count % ROWS == 0
    rng = np.random.default_rng(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for task, (rank, method), rate in itertools.product(TASKS, enumerate(METHODS), RATES):
            known = method if rank < 5 else "full"  # in the paper
            whole = make_record(task, known, size="short", steps=600, correct=np.ones(EXAMPLES, bool))
            whole = with_setting(with_setting(whole, "attention.name", method), "recipe.optimizer.lr", rate)
            for seed in range(count // ROWS):
                right = rng.random(EXAMPLES) < 0.3 + 0.02 * rank + 0.01 * rng.random()
                file.write(json.dumps(_of_seed(whole, seed, right)) + "\n")
    return path


def _of_seed(whole: dict[str, Any], seed: int, right: np.ndarray) -> dict[str, Any]:
    accuracy, steps = float(right.mean()), whole["outcome"]["steps"]
    outcome = {
        **whole["outcome"],
        "test_accuracy": accuracy,
        "test_correct": pack_correct(right),
        "best_dev_accuracy": accuracy,
        "dev_examples": EXAMPLES,
        "dev_curve": {
            "step": [steps * (place + 1) // PASSES for place in range(PASSES)],
            "accuracy": [accuracy * (place + 1) / PASSES for place in range(PASSES)],
        },
    }
    return {**whole, "identity": {**whole["identity"], "seed": seed}, "outcome": outcome}
