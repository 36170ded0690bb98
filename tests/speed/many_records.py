"""Thousands of records of one run group: methods with settings of their own, each with several seeds, on every task."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np

from lra.results.reference import TASKS
from tests.results.records import make_record, with_setting

METHODS = ("full", "nystrom", "linformer", "performer", "reformer", "none", "local", "linear", "skyformer", "average")
SEEDS = 10
PASSES = 20  # dev passes of a run


def write_records(path: Path, count: int) -> Path:
    """Write `count` records of size=short, a multiple of 500, as `lra publish` does."""
    assert count % (len(TASKS) * len(METHODS) * SEEDS) == 0
    rng = np.random.default_rng(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    variants = range(count // (len(TASKS) * len(METHODS) * SEEDS))
    with path.open("w") as file:
        for task, (rank, method), variant in itertools.product(TASKS, enumerate(METHODS), variants):
            theirs = method if rank < 5 else "full"
            whole = make_record(task, theirs, size="short", steps=600, correct=np.ones(2000, bool))
            whole = with_setting(whole, "attention.name", method)
            whole = with_setting(whole, "recipe.optimizer.lr", 1e-4 * (1 + variant))
            for seed in range(SEEDS):
                right = rng.random(2000) < 0.3 + 0.02 * rank + 0.01 * rng.random()
                file.write(json.dumps(_of_seed(whole, seed, right)) + "\n")
    return path


def _of_seed(whole: dict, seed: int, right: np.ndarray) -> dict:
    from lra.results.correctness import pack_correct

    accuracy = float(right.mean())
    steps = whole["outcome"]["steps"]
    curve = {
        "step": [steps * (place + 1) // PASSES for place in range(PASSES)],
        "accuracy": [accuracy * (place + 1) / PASSES for place in range(PASSES)],
    }
    outcome = {
        **whole["outcome"],
        "test_accuracy": accuracy,
        "test_correct": pack_correct(right),
        "best_dev_accuracy": accuracy,
        "dev_examples": 2000,
        "dev_curve": curve,
    }
    return {**whole, "identity": {**whole["identity"], "seed": seed}, "outcome": outcome}
