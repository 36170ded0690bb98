"""`lra show runs`: list the runs below the folder of runs, with the state and the age of each."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def show_runs(cfg: DictConfig) -> None:
    """Print a line for each run; `run_group=` chooses one group.

    Raises:
        UserError: when there is no run.
    """
    from lra.cli_support.console import make_console
    from lra.cli_support.narrow import print_text_table
    from lra.cli_support.run_states import run_states
    from lra.results.tables import TextTable

    runs = Path(cfg.paths.runs)
    states = run_states(runs, cfg.run_group)
    if not states:
        raise UserError(f"no run is below {runs / (cfg.run_group or '')}; type: lra train size=tiny logger=csv")
    now = time.time()
    rows = [
        [
            f"{state.task}/{state.method}",
            str(state.seed),
            state.state,
            age(now - state.touched),
            state.group,
            state.settings,
            str(state.folder.relative_to(runs)),
        ]
        for state in states
    ]
    table = TextTable(
        title=f"{len(states)} runs below {runs}",
        columns=("run", "seed", "state", "age", "group", "settings", "folder"),
        rows=rows,
        optional=("folder", "settings", "group"),
        prose=("state", "group", "settings", "folder"),
    )
    print_text_table(make_console(), table)


def age(seconds: float) -> str:
    """Word the time since something, in its largest unit, such as `3 h`."""
    return next((f"{seconds / unit:.0f} {name}" for unit, name in UNITS if seconds >= unit), "now")
