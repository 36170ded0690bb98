"""Folders on this machine (configurations, prepared data, source archives, runs), and the files of config groups."""

import functools
import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import yaml

from lra.types import UserError

CONF_VARIABLE = "LRA_CONF_PATH"  # the user's own folders in the form of `conf/`
CONF_ENTRY_POINT = "lra.conf"  # an installed package names its conf folder by it: `package`, or `package:folder`
NAMED_GROUPS = ("attention", "mixer", "task", "protocol")  # runs, data and rows are called by the `name` in the file
NO_OPTION_KEYS = ("name", "_target_", "_partial_")  # recorded, but no arguments of the class
METHOD_DESCRIPTION = ("display", "cite", "about", "source", "cost", "differs")
DESCRIPTION: Mapping[str, tuple[str, ...]] = {  # for readers: in no composed configuration, no hash and no record
    "attention": METHOD_DESCRIPTION,
    "mixer": METHOD_DESCRIPTION,
    "task": ("display", "about", "terms", "card", "grows"),
}


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Within this context, this process and its children have these environment variables too."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


def conf_dir() -> Path:
    """Folder of the project's Hydra configuration: inside the package if installed from a wheel, else beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def conf_dirs() -> list[Path]:
    """All configuration folders: the project's, those in `$LRA_CONF_PATH`, and those of installed packages.

    Raises:
        UserError: for a folder that does not exist or has no config group, for a file that two folders have, and for
            a file whose `name` is not that of the file.
    """
    return list(_conf_dirs(os.environ.get(CONF_VARIABLE, ""), os.getcwd()))


def conf_groups() -> frozenset[str]:
    """Names of all config groups, such as `attention`: the folders in all configuration folders."""
    return frozenset(path.name for folder in conf_dirs() for path in folder.iterdir() if path.is_dir())


def conf_choices() -> dict[str, list[str]]:
    """Names of the choices of each config group."""
    return {group: conf_names(group) for group in conf_groups()}


def users_conf_files() -> tuple[tuple[Path, int], ...]:
    """The files in the user's conf folders with the times of their last changes: a changed file is composed anew."""
    paths = (path for folder in conf_dirs()[1:] for path in sorted(folder.rglob("*.yaml")) if path.is_file())
    return tuple((path, path.stat().st_mtime_ns) for path in paths)


def conf_names(group: str) -> list[str]:
    """Names of a config group's choices, as in `attention=NAME`: its YAML files in all folders, without `base`."""
    files = (path for folder in conf_dirs() for path in (folder / group).glob("*.yaml"))
    return sorted({path.stem for path in files} - {"base"})


@functools.cache
def _conf_dirs(variable: str, _here: str) -> tuple[Path, ...]:
    """Find and check the folders, once for each value of the variable and each current folder."""
    ours = conf_dir()
    named_by = {
        Path(folder).expanduser().resolve(): f"--config-dir or {CONF_VARIABLE}"
        for folder in variable.split(os.pathsep)
        if folder
    }
    for entry in sorted(entry_points(group=CONF_ENTRY_POINT), key=lambda entry: entry.name):
        named_by.setdefault(_folder_of(entry), f"entry point {CONF_ENTRY_POINT}: {entry.name} = {entry.value}")
    named_by.pop(ours.resolve(), None)
    folders = [ours]
    for folder, origin in named_by.items():
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "is not there"
            line = f"{origin}: {folder} {what}; name a folder that holds GROUP/NAME.yaml"
            raise UserError(line, kind="missing_folder", key=str(folder))
        if not any(folder.glob("*/*.yaml")):
            raise UserError(f"{origin}: {folder} has no GROUP/NAME.yaml, such as attention/mine.yaml; name its parent?")
        for other in folders:
            _check_names(folder, other)
        folders.append(folder)
    for folder in folders[1:]:
        _check_names_inside(folder)
    return tuple(folders)


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, which is not imported; None if there is no such package."""
    try:
        spec = importlib.util.find_spec(package)
    except ImportError:  # of a part of a package that is not there
        spec = None
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _folder_of(entry: EntryPoint) -> Path:
    folder = package_folder(entry.module)
    if folder is None:
        raise UserError(
            f"entry point {CONF_ENTRY_POINT}: {entry.name} = {entry.value} names no package that is installed here;"
            f" install it again, or remove it: pip uninstall {entry.dist.name if entry.dist else entry.name}"
        )
    return folder.joinpath(*(entry.attr or "").split(".")).resolve()


def _check_names(folder: Path, other: Path) -> None:
    """Refuse a file that the other folder has under the same name: an override could mean either."""
    for path in sorted(folder.glob("*.yaml")) + sorted(folder.glob("*/*.yaml")):
        name = path.relative_to(folder)
        if (other / name).exists():
            raise UserError(f"{path} has the name of {other / name}, which cannot be replaced; call it otherwise")


def _check_names_inside(folder: Path) -> None:
    """Refuse a file that names itself otherwise, as a copy does: its runs and rows would be those of the original."""
    for path in sorted(path for group in NAMED_GROUPS for path in (folder / group).glob("*.yaml")):
        try:
            content = yaml.safe_load(path.read_bytes())
        except yaml.YAMLError:
            continue  # Hydra says in which line, when the file is chosen
        name = content.get("name") if isinstance(content, dict) else None
        if path.stem != "base" and str(name) != path.stem:
            has = "has no name" if name is None else f"has name: {name}"
            raise UserError(f"{path} {has}, by which its runs and rows are called; write in it: name: {path.stem}")


def data_dir() -> Path:
    """Folder of the prepared data: `$LRA_DATA_DIR`, else `lra` in the user's cache folder."""
    chosen = os.environ.get("LRA_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lra"


def source_dirs() -> list[Path]:
    """Folders searched for public archives: `sources` in the data folder (for downloads), then `$LRA_SOURCE_DIR`'s."""
    chosen = os.environ.get("LRA_SOURCE_DIR", "").split(os.pathsep)
    return [data_dir() / "sources", *(Path(folder).expanduser().resolve() for folder in chosen if folder)]


def runs_dir() -> Path:
    """Folder of the runs: `$LRA_RUNS_DIR`, else `./runs`."""
    return Path(os.environ.get("LRA_RUNS_DIR") or "runs").expanduser().resolve()


def read_choice(group: str, name: str) -> dict[str, Any]:
    """Read the file of `GROUP=NAME`, the user's own too, with interpolations as they are written.

    Options come from the group's other files too, which its defaults list names; a description is of the file itself.
    """
    file = next(path for folder in conf_dirs() if (path := folder / group / f"{name}.yaml").is_file())
    own: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    options: dict[str, Any] = {}
    for other in own.pop("defaults", []):
        if other in conf_names(group):
            options = _merged(options, read_choice(group, other))
    described = DESCRIPTION.get(group, ())
    return _merged({key: value for key, value in options.items() if key not in described}, own)


def _merged(first: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    groups = [key for key in then if isinstance(first.get(key), dict) and isinstance(then[key], dict)]
    return first | then | {key: _merged(first[key], then[key]) for key in groups}
