"""Records as runs write them, with what a test cares about set."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from lra.runs.published_numbers import TEST_EXAMPLES, paper_settings
from lra.runs.record import pack_correct
from lra.runs.schema import SCHEMA_VERSION, Record
from lra.runs.settings_hash import hash_of
from lra.tables.cells import make_rows

# Optimizer steps of the released code's runs.
PAPER_STEPS: dict[str, int] = {
    "listops": 5000,
    "text": 20_000,
    "retrieval": 30_000,
    "image": 35_000,
    "pathfinder": 62_400,
}


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
) -> Record:
    """A valid record of the paper's settings, but for what is given."""
    settings = copy.deepcopy(paper_settings(task, attention))
    assert settings is not None
    settings["attention"] |= attention_settings
    settings["protocol"]["name"] = protocol
    settings["size"]["name"] = size
    steps = PAPER_STEPS[task] if steps is None else steps
    settings["recipe"]["steps"] = settings["recipe"]["schedule"]["steps"] = steps
    if correct is None:
        correct = np.arange(TEST_EXAMPLES[task]) < round(accuracy * TEST_EXAMPLES[task])
    return Record(
        {
            "schema_version": SCHEMA_VERSION,
            "identity": {
                "task": task,
                "attention": attention,
                "protocol": protocol,
                "size": size,
                "seed": seed,
                "run_group": "table",
            },
            "settings": settings,
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
            },
            "provenance": {
                "config_hash": hash_of(settings),
                "data_sha256": {"tokens": "0" * 64},
                "data_origin": origin,
                "versions": {},
                "git_commit": "0" * 40,
                "finished_at": finished_at,
            },
        }
    )


def with_setting(record: Record, key: str, value: Any) -> Record:
    """A copy of a record whose run had another value of a setting, by its dotted key."""
    record = copy.deepcopy(record)
    node = record["settings"]
    *path, last = key.split(".")
    for part in path:
        node = node[part]
    node[last] = value
    for group in ("task", "attention", "protocol", "size"):
        record["identity"][group] = record["settings"][group]["name"]
    record["outcome"]["steps"] = record["outcome"]["best_step"] = record["settings"]["recipe"]["steps"]
    record["provenance"]["config_hash"] = hash_of(record["settings"])
    return record


def from_version_1(record: Record) -> Record:
    """The record as it was rewritten from version 1, which had few settings; its hash covers all."""
    record, settings = copy.deepcopy(record), record["settings"]
    attention = {key: value for key, value in settings["attention"].items() if not key.startswith("_")}
    return Record(
        {
            **record,
            "migrated_from": 1,
            "settings": {
                **{group: settings[group] for group in ("protocol", "size", "recipe")},
                "task": {key: settings["task"][key] for key in ("name", "dev_split", "data")},
                "attention": attention,
                "trainer": {"precision": settings["trainer"]["precision"]},
            },
        }
    )


def rows_by_name(records: Iterable[Record], *, ignored: tuple[str, ...] = ()) -> dict[str, list[Record]]:
    """The records of each row of a table, by the name of the row."""
    return {row.name: row.records for row in make_rows(records, ignored=ignored)}
