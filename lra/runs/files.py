"""A run's folder: its path, what the path says, the names of its files, and how a command finds it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, NamedTuple

from lra.base.files import paths_below
from lra.base.printed_commands import command, override, typed_command, typed_overrides
from lra.runs.schema import Identity
from lra.types import UserError

RESULT = "result.json"  # the record; exists once the run is finished
CONFIG = "config.yaml"  # every setting, resolved
DATA = "data.json"  # hashes of the data that the run began with
CODE = "code.json"  # the commits of the code that has trained the run, the first one first
PRETRAINING = "pretraining"  # the folder of the self-pretraining, with checkpoints and curves of its own
TAKEN_FROM = "from.json"  # in that folder: the run that it was taken from, if it is another one's
METRICS = "metrics.csv"  # the curves: a row for each logged step
CURVE = "curve.png"  # the learning curve drawn from them
BEST = "best.ckpt"  # the best checkpoint by dev accuracy, used for testing
LAST = "last.ckpt"  # the checkpoint to resume from: weights, optimizer, schedule, random state
WANDB_ID = "wandb_id"  # the run's id in W&B
WANDB_POINTS = "wandb_points.csv"  # the points of its curves that W&B has been given
DIAGNOSIS = "diagnosis.json"  # what lra diagnose has measured
DIAGNOSIS_PAGE = "diagnosis.html"  # the page of it
FAILED = "failed.json"  # the error of the run's last attempt in a sweep
OUTPUT = "output.log"  # what the run has printed, where a table, a sweep or a search has run it

MARKS_OF_A_RUN = (RESULT, CONFIG, METRICS, LAST, FAILED)  # a run's folder has one of these
ABOVE_SETTINGS: tuple[Literal["run_group", "task", "attention"], ...] = ("run_group", "task", "attention")
LEAST_PARTS = 4  # of a run's path below the folder of runs, at least: task, attention, settings, seed
SEED_FOLDER = re.compile(r"seed([0-9]+)")
HASH = re.compile(r"[0-9a-f]{4,8}")  # of settings, or its first digits
MOST_LISTED = 8  # runs that an error names
SETTINGS_FOLDER = re.compile(r".+-(?P<steps>[0-9]+)steps-(?P<hash>[0-9a-f]{8})")


def run_folder(runs: Path, identity: Identity, *, steps: int, config_hash: str) -> Path:
    """Build the path of a run's folder: `runs/<group>/<task>/<attention>/<settings>/seed<k>`."""
    settings = f"{identity['protocol']}-{identity['size']}-{steps}steps-{config_hash}"
    return runs.joinpath(*(str(identity[name]) for name in ABOVE_SETTINGS), settings, f"seed{identity['seed']}")


def run_folders(top: Path, runs: Path) -> Iterator[Path]:
    """Find the runs' folders at `top`, in or below the folder `runs`; what `force=true` has set aside is none."""
    for folder in sorted(path for path in paths_below(top) if path.name.startswith("seed")):
        named = SEED_FOLDER.fullmatch(folder.name) and SETTINGS_FOLDER.fullmatch(folder.parent.name)
        below = len(folder.relative_to(runs).parts)
        if named and below >= LEAST_PARTS and any((folder / file).exists() for file in MARKS_OF_A_RUN):
            yield folder


class FolderNames(NamedTuple):
    """What the path of a run's folder says; `settings` are protocol, size, steps and hash, as in its name."""

    task: str
    method: str
    settings: str
    steps: int
    config_hash: str
    seed: int


def folder_names(folder: Path) -> FolderNames | None:
    """Read the path of a run's folder; None for a folder elsewhere, such as a copy under another name."""
    *above, task, method, _, _ = ("", "", "", *folder.absolute().parts)
    settings, seed = SETTINGS_FOLDER.fullmatch(folder.parent.name), SEED_FOLDER.fullmatch(folder.name)
    if settings is None or seed is None or not any(above):
        return None
    return FolderNames(task, method, settings[0], int(settings["steps"]), settings["hash"], int(seed[1]))


def hash_and_seed(folder: Path) -> tuple[str, int]:
    """Read the hash of the settings, eight hex digits, and the seed from the path of a run's folder."""
    names = folder_names(folder)
    assert names is not None, folder
    return names.config_hash, names.seed


def find_folder(run: str, runs: Path, *, seed: int | None = None) -> Path:
    """Find the folder of a run below `runs` by its folder, hash, or group and hash, as `lra.Run.find` explains.

    Raises:
        UserError: when no run or several runs have this hash and seed.
    """
    folder, (group, slash, digits) = Path(run).expanduser(), run.rpartition("/")
    group_folder = runs / group
    is_hash = HASH.fullmatch(digits) and group_folder.is_relative_to(runs) and (group_folder.is_dir() or not group)
    if folder.is_dir() or (slash and not is_hash):
        if seed is not None:
            named = override("run", run)
            line = f"seed={seed} has no effect beside run={run}, which is the folder of one run; {_to_type([[named]])}"
            raise UserError(line, kind="no_effect", key="seed", value=seed, right=[named])
        return folder
    if not is_hash:
        lists = command("show runs", *typed_overrides("paths.runs"))
        line = f"run={run} is no folder, and no hash of a run's settings (4 to 8 digits); type: {lists}"
        raise UserError(line, kind="unknown_run", key="run", value=run)
    known = list(run_folders(group_folder, runs))
    of_hash = [known_run for known_run in known if hash_and_seed(known_run)[0].startswith(digits)]
    matching = [known_run for known_run in of_hash if seed in (None, hash_and_seed(known_run)[1])]
    if len(matching) == 1:
        return matching[0]
    typed = dict(zip(known, _as_typed(known, runs), strict=True))
    if matching:
        right = [typed[known_run] for known_run in matching]
        line, texts = f"run={run} is of {len(matching)} runs; {_to_type(right)}", list(map(" ".join, right))
        raise UserError(line, kind="several_runs", key="run", value=run, right=texts)
    if of_hash:
        right = [typed[known_run] for known_run in of_hash]
        line, texts = f"run={run} has no seed={seed}; {_to_type(right)}", list(map(" ".join, right))
        raise UserError(line, kind="unknown_run", key="seed", value=seed, right=texts)
    if not known:
        makes = command("train", *typed_overrides("paths.runs"), "size=tiny", "logger=csv")
        line = f"run={run} is not known: no run is below {group_folder}; type: {makes}"
        raise UserError(line, kind="unknown_run", key="run", value=run)
    hashes = [hash_and_seed(folder)[0][: len(digits)] for folder in known]
    likeness = [SequenceMatcher(None, digits, of_run, autojunk=False).ratio() for of_run in hashes]
    near = known[likeness.index(max(likeness))]
    line = f"run={run} is the hash of no run below {group_folder}; the nearest is another; {_to_type([typed[near]])}"
    raise UserError(line, kind="unknown_run", key="run", value=run, right=[" ".join(typed[near])])


def _as_typed(folders: Sequence[Path], runs: Path) -> list[tuple[str, ...]]:
    """The overrides that name each run: its hash and seed; with its group, or by its folder, where others have them."""
    parts = [(str(folder.relative_to(runs).parents[3]), *hash_and_seed(folder)) for folder in folders]
    short = [(f"run={settings}", f"seed={seed}") for _, settings, seed in parts]
    with_group = [(override("run", f"{group}/{settings}"), f"seed={seed}") for group, settings, seed in parts]
    times = Counter([*short, *with_group])
    return [
        next((names for names in several if times[names] == 1), (override("run", folder),))
        for folder, *several in zip(folders, short, with_group, strict=True)
    ]


def _to_type(right: Sequence[Sequence[str]]) -> str:
    """Word what to type for one of some runs: the command that was typed, with it; in Python, the overrides alone."""
    texts = [" ".join(names) for names in right[:MOST_LISTED]]
    if typed_overrides("run"):
        texts = [typed_command("evaluate", *names, without=["seed"]) for names in right[:MOST_LISTED]]
    lists = command("show runs", *typed_overrides("paths.runs"))
    more = f", or one of {len(right) - MOST_LISTED} more: {lists}" if len(right) > MOST_LISTED else ""
    start = "type one of: " if len(right) > 1 else "type: "
    return f"{start}{', '.join(texts)}{more}"
