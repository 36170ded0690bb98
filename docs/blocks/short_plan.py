"""What `lra table plan` estimates of the short table's runs, from the published plan."""

from __future__ import annotations

import functools
import json
from collections.abc import Container
from dataclasses import replace

from omegaconf import OmegaConf

from docs.blocks.published import PUBLISHED, records
from lra.runs.schema import Record
from lra.sweeps.estimate import Estimate

CONDITIONS = "cpu (1 threads), prepared"


@functools.cache
def _estimates() -> dict[str, Estimate]:
    """The estimates by the hash of a run's settings."""
    found = {}
    for key, estimate in json.loads((PUBLISHED / "short_plan.json").read_text()).items():
        folder, _, conditions = key.partition(", ")
        if conditions == CONDITIONS:
            found[folder.rpartition("-")[2]] = Estimate(**estimate)
    return found


def planned_seconds(record: Record, *, test: bool = True) -> float:
    """The seconds that the plan estimates for a run; `test`: with its test."""
    estimate = _estimates()[record["provenance"]["config_hash"]]
    cfg = OmegaConf.create({"recipe": record["settings"]["recipe"]})
    return (estimate if test else replace(estimate, test_examples=0)).seconds(cfg)


def plan_hours(attentions: Container[str] | None) -> float:
    """The hours that the plan estimates for the short table's runs; of some attentions, or of all (None)."""
    chosen = [r for r in records("short_table") if attentions is None or r["identity"]["attention"] in attentions]
    return sum(map(planned_seconds, chosen)) / 3600
