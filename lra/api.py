"""What a notebook needs beside `lra.from_config`: compose a configuration, prepare data, read runs and records back."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lra.base.paths import runs_dir
from lra.from_config.store import ensure_store
from lra.run import Run
from lra.runs.collection import collect
from lra.runs.groups import find_group, nearest_groups
from lra.settings.check import check_config
from lra.settings.check_overrides import check_mixer, check_overrides
from lra.settings.compose import COMPOSING_ERRORS, load_config
from lra.settings.which_run import store_dir
from lra.terminal.console import make_console
from lra.types import UserError

if TYPE_CHECKING:  # slow imports, made only where they are used
    import pandas as pd

    from lra.settings.run_config import RunConfig


SHORT = {  # the columns of `records(…, columns="short")`, by their names among all columns
    "identity.task": "task",
    "identity.attention": "method",
    "identity.seed": "seed",
    "outcome.test_accuracy": "accuracy",
    "cost.train_seconds": "seconds",
}


def compose(*overrides: str) -> RunConfig:
    """Compose the configuration of `lra train OVERRIDES`, with the checks of the command line.

    Args:
        overrides: settings as on the command line, such as `"task=text"` or `"attention.num_landmarks=32"`.

    Returns:
        The configuration, whose groups are fields with types; `changed` makes another one of it.

    Raises:
        UserError: for an unknown setting, a wrong value, and settings that contradict each other.

    Examples:
        >>> import lra
        >>> cfg = lra.compose("task=text", "attention.num_landmarks=32")
        >>> cfg.attention.num_landmarks, cfg.recipe.steps
        (32, 20000)
        >>> cfg.changed({"recipe.steps": 100}).recipe.schedule.steps
        100
    """
    wrong = next((override for override in overrides if not isinstance(override, str)), None)
    if wrong is not None:
        line = f'{wrong!r} is no override; each is a text of its own: lra.compose("task=text", "size=tiny")'
        raise UserError(line, kind="unknown_option", key=str(wrong))
    flag = next((override for override in overrides if override.startswith("-")), None)
    if flag is not None:
        line = f'{flag!r} is no override; overrides are key=value, as in: lra.compose("task=listops")'
        raise UserError(line, kind="unknown_option", key=flag)
    try:
        checked = check_overrides("train", list(overrides), sweep=False)
        check_mixer(checked)
        cfg = load_config("train", checked)
        check_config(cfg, "train")
    except COMPOSING_ERRORS as error:
        from lra.terminal.errors import explain

        raise UserError(explain(error)) from error
    return cfg


def prepare_data(cfg: RunConfig) -> Path:
    """Make the data of the configuration's task if it is missing, as `lra prepare` does; return the store's folder.

    Raises:
        UserError: when the data cannot be made, or the existing data is not what the configuration asks for.

    Examples:
        >>> import lra
        >>> lra.prepare_data(lra.compose("task=listops", "size=tiny")).name
        'tiny'
    """
    ensure_store(cfg, make_console())
    return store_dir(cfg)


def load_run(folder: str | Path, *, seed: int | None = None) -> Run:
    """Read a trained run from its folder, with the checks of `lra evaluate`: nothing in the folder chooses code.

    Args:
        folder: the run's folder, `runs/<group>/<task>/<attention>/<settings>/seed<k>`, or the hash of its settings, as
            in `lra.load_run("a1b9200f", seed=0)`.
        seed: the seed, where several runs have these settings.

    Raises:
        UserError: when it is not a trained run, or one of its files is damaged or does not fit the
            others.

    Examples:
        >>> import lra
        >>> from lra.cli import main
        >>> settings = ["task=listops", "size=tiny", "recipe.steps=4", "logger=csv"]
        >>> main(["train", *settings])  # doctest: +ELLIPSIS
        listops/nystrom ...
        >>> run = lra.load_run(lra.run_dir(lra.compose(*settings)))
        >>> run.record.steps, len(run.curves) > 0
        (4, True)
    """
    run = Run.find(str(folder), seed=seed)
    run.module.eval()  # settings and weights are read here, so that what is wrong with them is said here
    return run


def records(source: str | Path, *, columns: Literal["all", "short"] = "all") -> pd.DataFrame:
    """Read records as a table with a row for each run and a column for each field.

    The columns are the keys of the record with dots between them: `identity.task`, `identity.seed`,
    `settings.attention.num_landmarks`, `outcome.test_accuracy` (a fraction in [0, 1]), `cost.train_seconds`, …,
    and `source`, the file. A field that a record does not have is NaN. A broken record is left out with a warning.

    Args:
        source: a run group; the project's published records, as `published/listops.jsonl`; or the path of a folder of
            runs or of a file of records.
        columns: `all`, or `short`: `task`, `method`, `seed`, `accuracy` (test accuracy, a fraction in [0, 1]) and
            `seconds` (of training). Runs of one method may differ in its options, or in protocol and size, which only
            all columns show: where a task, method and seed have several runs, a warning says so.

    Raises:
        UserError: when there is no record, or `columns` is another word.

    Examples:
        >>> import lra
        >>> frame = lra.records("default")
        >>> mean = frame.groupby("identity.attention")["outcome.test_accuracy"].mean()
        >>> bool(mean["nystrom"] > 0)
        True
        >>> list(lra.records("default", columns="short"))
        ['task', 'method', 'seed', 'accuracy', 'seconds']
    """
    import pandas as pd

    if columns not in ("all", "short"):
        line = f'columns={columns!r} is not known; type lra.records({str(source)!r}, columns="short"), or "all"'
        raise UserError(line, kind="unknown_choice", key="columns", value=columns, right=("all", "short"))
    group = find_group(runs_dir(), str(source)).path
    path = group if group.exists() else Path(source).expanduser()
    if not path.exists():
        near = "".join(f"; lra.records({name!r}) is there" for name in nearest_groups(runs_dir(), str(source))[:1])
        line = f"no records: {group} is not there; name a run group, a folder or a .jsonl file{near}"
        raise UserError(line, kind="missing_file", key=str(group), value=str(source))
    collection = collect(path)
    for problem in collection.problems:
        warnings.warn(problem, stacklevel=2)
    if not collection.records:
        raise UserError(f"no record is below {path}; make one with: lra train", kind="no_records", key=str(path))
    frame = pd.json_normalize([{**record} for record in collection.records])
    if columns == "all":
        return frame.assign(source=[str(source) for source in collection.sources])
    short = frame[list(SHORT)].rename(columns=SHORT)
    if short.duplicated(["task", "method", "seed"]).any():
        line = 'several runs have the same task, method and seed: they differ in settings, which columns="all" shows'
        warnings.warn(line, stacklevel=2)
    return short
