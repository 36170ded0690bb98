"""Where things lie on this machine: configurations, prepared data, runs."""

from __future__ import annotations

import os
from pathlib import Path


def conf_dir() -> Path:
    """Folder of the Hydra tree: inside the package when installed from a wheel, else beside it."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def data_dir() -> Path:
    """Folder of the prepared data: `$LRA_DATA_DIR`, else `lra` in the user's cache folder."""
    chosen = os.environ.get("LRA_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lra"


def source_dirs() -> list[Path]:
    """Folders where public archives are looked for: `sources` in the data folder, where downloads go, then each of
    `$LRA_SOURCE_DIR` (several with `:` between them)."""
    chosen = os.environ.get("LRA_SOURCE_DIR", "").split(os.pathsep)
    return [data_dir() / "sources", *(Path(folder).expanduser().resolve() for folder in chosen if folder)]


def runs_dir() -> Path:
    """Folder of the runs: `$LRA_RUNS_DIR`, else `./runs`."""
    return Path(os.environ.get("LRA_RUNS_DIR") or "runs").expanduser().resolve()
