"""A run's folder: where it lies, and what its files are called."""

from __future__ import annotations

from pathlib import Path

RESULT = "result.json"  # the record: there once the run has finished
CONFIG = "config.yaml"  # every setting, resolved
DATA = "data.json"  # hashes of the data that the run began with
METRICS = "metrics.csv"  # its curves: a row for each logged step
CURVE = "curve.png"  # the learning curve drawn from them
BEST = "best.ckpt"  # the weights with the best dev accuracy, which are tested
LAST = "last.ckpt"  # everything that a resume needs
WANDB_ID = "wandb_id"  # under which W&B knows the run
FAILED = "failed.json"  # why its last try in a sweep ended


def run_folder(
    runs: Path,
    group: str,
    *,
    task: str,
    attention: str,
    protocol: str,
    size: str,
    steps: int,
    config_hash: str,
    seed: int,
) -> Path:
    """Where a run lies: `runs/<group>/<task>/<attention>/<settings>/seed<k>`."""
    return runs / group / task / attention / f"{protocol}-{size}-{steps}steps-{config_hash}" / f"seed{seed}"
