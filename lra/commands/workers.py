"""Several workers on the cells of a sweep: what `workers=N` starts, here or on other machines, by a Hydra launcher."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig


def start_workers(sweep: str, words: list[str], workers: int, launcher: list[str]) -> None:
    """Start workers by Hydra's launcher and wait for them; leases share the cells out among them."""
    import hydra

    from lra.paths import conf_dir

    if not any("hydra/launcher=" in word for word in launcher):
        launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={workers}", *launcher]
    quoted = ",".join("'" + word.replace("'", r"\'") + "'" for word in words)
    sys.argv = ["lra", "--multirun", f"of={sweep}", f"worker=range({workers})", f"words=[{quoted}]", *launcher]
    hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="worker")(work)()


def work(cfg: DictConfig) -> None:
    """One worker: a job of the launcher, on this machine or another that shares the folder of runs."""
    from lra.commands.console import make_console
    from lra.sweeps.grid import make_cells
    from lra.sweeps.runner import run_missing

    os.environ["TTY_COMPATIBLE"] = "0"  # several on one terminal write lines, not bars over each other's
    run_missing(make_cells(cfg.of, list(cfg.words)), make_console())
