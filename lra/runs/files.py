"""A run's folder: its path, and the names of its files. The files of a run group."""

import re
from collections.abc import Iterator
from pathlib import Path

from lra.base.files import paths_below

RESULT = "result.json"  # the record; exists once the run is finished
CONFIG = "config.yaml"  # every setting, resolved
DATA = "data.json"  # hashes of the data that the run began with
CODE = "code.json"  # the commits of the code that has trained the run, the first one first
METRICS = "metrics.csv"  # the curves: a row for each logged step
CURVE = "curve.png"  # the learning curve drawn from them
BEST = "best.ckpt"  # the best checkpoint by dev accuracy, used for testing
LAST = "last.ckpt"  # the checkpoint to resume from: weights, optimizer, schedule, random state
WANDB_ID = "wandb_id"  # the run's id in W&B
DIAGNOSIS = "diagnosis.json"  # what lra diagnose has measured
DIAGNOSIS_PAGE = "diagnosis.html"  # the page of it
FAILED = "failed.json"  # the error of the run's last attempt in a sweep

MARKS_OF_A_RUN = (RESULT, CONFIG, METRICS, LAST, FAILED)  # a run's folder has one of these
LEAST_PARTS = 4  # of a run's path below the folder of runs, at least: task, attention, settings, seed
SEED_FOLDER = re.compile(r"seed([0-9]+)")
SETTINGS_FOLDER = re.compile(r".+-(?P<steps>[0-9]+)steps-(?P<hash>[0-9a-f]{8})")


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


def run_folders(place: Path, runs: Path) -> Iterator[Path]:
    """Find the runs' folders at `place`, in or below the folder `runs`; what `force=true` has set aside is none."""
    for folder in sorted(path for path in paths_below(place) if path.name.startswith("seed")):
        named = SEED_FOLDER.fullmatch(folder.name) and SETTINGS_FOLDER.fullmatch(folder.parent.name)
        below = len(folder.relative_to(runs).parts)
        if named and below >= LEAST_PARTS and any((folder / file).exists() for file in MARKS_OF_A_RUN):
            yield folder


def hash_and_seed(folder: Path) -> tuple[str, int]:
    """Read the hash of the settings, eight hex digits, and the seed from the path of a run's folder."""
    settings, seed = SETTINGS_FOLDER.fullmatch(folder.parent.name), SEED_FOLDER.fullmatch(folder.name)
    assert settings is not None, folder
    assert seed is not None, folder
    return settings["hash"], int(seed[1])


def group_file(group: Path, name: str) -> Path:
    """Build the path of a run group's file: in its folder, or beside it if the group is a file of records."""
    return group.with_name(f"{group.stem}-{name}") if group.is_file() else group / name
