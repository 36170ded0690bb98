"""A run's folder: its path, and the names of its files. The files of a run group."""

from __future__ import annotations

from pathlib import Path

RESULT = "result.json"  # the record; exists once the run is finished
CONFIG = "config.yaml"  # every setting, resolved
DATA = "data.json"  # hashes of the data that the run began with
CODE = "code.json"  # the commits of the code that has trained the run, the first one first
METRICS = "metrics.csv"  # the curves: a row for each logged step
CURVE = "curve.png"  # the learning curve drawn from them
BEST = "best.ckpt"  # the weights with the best dev accuracy, which are tested
LAST = "last.ckpt"  # the checkpoint to resume from: weights, optimizer, schedule, random state
WANDB_ID = "wandb_id"  # the run's id in W&B
DIAGNOSIS = "diagnosis.json"  # what lra diagnose has measured
DIAGNOSIS_PAGE = "diagnosis.html"  # the page of it
FAILED = "failed.json"  # the error of the run's last attempt in a sweep


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
    """Build the path of a run's folder: `runs/<group>/<task>/<attention>/<settings>/seed<k>`."""
    return runs / group / task / attention / f"{protocol}-{size}-{steps}steps-{config_hash}" / f"seed{seed}"


def group_file(group: Path, name: str) -> Path:
    """Build the path of a run group's file: in its folder, or beside it if the group is a file of records."""
    return group.with_name(f"{group.stem}-{name}") if group.is_file() else group / name
