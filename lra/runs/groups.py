"""Run groups: where one lies that is to be read, and where a command writes what it makes of its records.

A group is a folder of runs, or a file of published records. `run_group=` names it below the folder of runs. The
project's own published records, `published/NAME.jsonl`, come with the package, and a group can be the path of any file
or folder.
"""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from lra.base.files import paths_below
from lra.base.paths import runs_dir
from lra.runs.files import RESULT

PUBLISHED = ".jsonl"  # the end of the name of a file of published records, one a line
PUBLISHED_FOLDER = "published"  # below a folder of runs
PATH_STARTS = ("/", "~", "./", "../")  # of what can be nothing but a path


class RunGroup(NamedTuple):
    """A run group: the folder of runs that it is in, and its name below that, as in `run_group=NAME`."""

    runs: Path
    name: str

    @property
    def path(self) -> Path:
        """Its folder, or its file of published records; it need not exist."""
        return self.runs / self.name


def shipped_records() -> Path:
    """Folder of the project's published records: inside the package if installed from a wheel, else beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / PUBLISHED_FOLDER
    return inside if inside.is_dir() else package.parent / "runs" / PUBLISHED_FOLDER


def find_group(runs: Path, typed: str) -> RunGroup:
    """Find a run group that is to be read; `typed` is what `run_group=` says.

    It is looked for below the folder `runs`; then, if it is `published`, `published/NAME.jsonl` or `published/NAME`,
    among the project's records; then as the path of a file or folder. If nothing is there, it is the one below `runs`
    that would have this name, or the path if it can be nothing else.
    """
    if not is_path(typed):
        names, folders = [typed], [runs]
        if typed.split("/")[0] == PUBLISHED_FOLDER:
            names, folders = [typed, f"{typed}{PUBLISHED}"], [runs, shipped_records().parent]
        found = next(filter(_is_there, (RunGroup(folder, name) for folder in folders for name in names)), None)
        can_be_path = "/" in typed or typed.endswith(PUBLISHED)
        if found is not None or not (can_be_path and Path(typed).exists()):
            return found or RunGroup(runs, typed)
    path = Path(os.path.abspath(Path(typed).expanduser()))  # a link keeps its name
    inside = path != runs and path.is_relative_to(runs)
    return RunGroup(runs, str(path.relative_to(runs))) if inside else RunGroup(path.parent, path.name)


def is_path(typed: str) -> bool:
    """Tell whether what was typed can be nothing but a path."""
    return typed.startswith(PATH_STARTS)


def _is_there(group: RunGroup) -> bool:
    """Tell whether a group is there; the folder `published` may hold figures alone."""
    return group.path.exists() and (group.name != PUBLISHED_FOLDER or any(_files_of_records(group.path)))


def groups_in(runs: Path) -> list[str]:
    """Name the run groups in a folder of runs: the folders, and files of published records, in it that hold records."""
    if not runs.is_dir():
        return []
    return [path.name for path in sorted(runs.iterdir()) if path.name[0] != "." and any(_files_of_records(path))]


def _files_of_records(top: Path) -> Iterator[Path]:
    paths = paths_below(top) if top.is_dir() else [top]
    return (path for path in paths if path.name == RESULT or path.suffix == PUBLISHED)


def published_names() -> list[str]:
    """Name the project's files of published records, as `run_group=` takes them."""
    return [f"{PUBLISHED_FOLDER}/{path.name}" for path in sorted(shipped_records().glob(f"*{PUBLISHED}"))]


def nearest_groups(runs: Path, typed: str) -> list[str]:
    """Name the groups that `typed` may have been meant to be, the most similar first; all of `runs` if none is."""
    own = groups_in(runs)
    return get_close_matches(typed, [*own, *published_names()], n=3, cutoff=0.6) or own


def group_file(group: Path, name: str) -> Path:
    """Build the path of a file that a command makes of a run group: in its folder, or beside it if it is a file.

    Of the project's own records it is in the user's folder of runs, not in the package.
    """
    file = group.with_name(f"{group.stem}-{name}") if group.is_file() else group / name
    shipped, runs = shipped_records(), runs_dir()
    if file.is_relative_to(shipped) and not shipped.is_relative_to(runs):
        return runs / PUBLISHED_FOLDER / file.relative_to(shipped)
    return file
