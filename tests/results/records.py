"""Records as runs write them, with what a test cares about set."""

from __future__ import annotations

import copy
import zlib
from typing import Any

import numpy as np

from lra.results.correctness import pack_correct
from lra.results.record import SCHEMA_VERSION
from lra.results.reference import PAPER_STEPS

EXAMPLES = 2000


def make_record(
    task: str = "listops",
    attention: str = "nystrom",
    seed: int = 0,
    accuracy: float = 0.37,
    *,
    size: str = "full",
    protocol: str = "paper",
    origin: str = "generated",
    steps: int | None = None,
    correct: np.ndarray | None = None,
    finished_at: str = "2026-01-01T00:00:00+00:00",
    **attention_settings: Any,
) -> dict[str, Any]:
    """A valid record; its config hash follows from its settings."""
    settings = {"name": attention, **({"num_landmarks": 64} if attention == "nystrom" else {}), **attention_settings}
    steps = PAPER_STEPS[task] if steps is None else steps
    if correct is None:
        correct = np.arange(EXAMPLES) < round(accuracy * EXAMPLES)
    record = {
        "schema_version": SCHEMA_VERSION,
        "identity": {
            "task": task,
            "attention": attention,
            "attention_settings": settings,
            "protocol": {"name": protocol, "text_dev": "test"},
            "dev_split": "test" if task == "text" else "own",
            "size": size,
            "seed": seed,
            "run_group": "table",
            "recipe": {"steps": steps, "batch_size": 32, "optimizer": {"lr": 1e-4}, "schedule": {"steps": steps}},
        },
        "outcome": {
            "test_accuracy": float(correct.mean()),
            "test_correct": pack_correct(correct),
            "test_examples": len(correct),
            "best_dev_accuracy": accuracy,
            "best_step": steps,
            "steps": steps,
            "majority_rate": 0.17 if task == "listops" else 0.5,
            "confusion": [[1, 0], [0, 1]],
        },
        "cost": {
            "parameters": 209_942,
            "train_seconds": 1800.0,
            "steps_per_second": steps / 1800,
            "peak_memory_bytes": 1 << 30,
            "device": "cpu (2 threads)",
            "precision": "32-true",
        },
        "provenance": {
            "config_hash": f"{zlib.crc32(repr((settings, steps, size, protocol)).encode()):08x}",
            "data_sha256": {"tokens": "0" * 64},
            "data_origin": origin,
            "data_settings": {},
            "versions": {},
            "git_commit": "0" * 40,
            "finished_at": finished_at,
        },
    }
    return copy.deepcopy(record)
