"""The plan of a sweep: its cells, what is done, and what the rest will cost."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from lra.commands.campaign import Campaign
    from lra.sweeps.estimate import Estimate
    from lra.sweeps.grid import Cell

CACHE = "plan.json"  # in the run group's folder: measuring takes minutes, asking again must not


def print_plan(console: Console, campaign: Campaign) -> None:
    """Print a line for each kind of cell: state of its seeds, cost of what is left; then the total."""
    from rich.progress import track
    from rich.table import Table

    from lra.build import device_name
    from lra.commands.console import print_table, size_text

    kinds: dict[Path, list[Cell]] = defaultdict(list)
    for cell in campaign.cells:
        kinds[cell.folder.parent].append(cell)
    known = _read_cache(campaign.group / CACHE)
    table = Table(title=f"{len(campaign.cells)} cells in {campaign.group}", title_justify="left")
    for name in ("cell", "seeds", "done", "s/step", "memory", "hours left", ""):
        table.add_column(name, justify="left" if name in ("cell", "") else "right")
    total = left = 0.0
    for folder, cells in track(
        kinds.items(), "measuring a few steps of each kind of cell …", console=console, transient=True
    ):
        key = f"{folder.name}, {device_name(cells[0].cfg)}"
        missing = [cell for cell in cells if not cell.finished]
        estimate, note = None, ""
        if missing:
            try:
                estimate = _estimate(key, missing[0], known)
                note = "" if estimate.source == "measured" else estimate.source
                _write_cache(campaign.group / CACHE, known)
            except UserError as error:
                note = f"cannot be run: {error}"
        hours = 0.0
        if estimate is not None:
            hours = sum(estimate.seconds(cell.cfg, done_steps=_steps_behind(cell)) for cell in missing) / 3600
            left += hours
        total += len(missing)
        table.add_row(
            cells[0].name.split(" seed")[0] + cells[0].apart,
            ", ".join(str(cell.cfg.seed) for cell in cells),
            f"{len(cells) - len(missing)} of {len(cells)}",
            f"{estimate.step_seconds:.3f}" if estimate else "–",
            size_text(estimate.peak_memory_bytes) if estimate else "–",
            f"{hours:.2f}" if estimate else "–",
            "; ".join(filter(None, [note, *_states(missing)])),
        )
    print_table(console, table)
    console.print(
        f"{total:.0f} cells to run, {left:,.1f} hours on {device_name(campaign.cells[0].cfg)} one after the other,"
        f" dev passes and tests counted in; preparing data is not.\nRun them: lra {campaign.verb} run"
    )


def _estimate(key: str, cell: Cell, known: dict[str, dict[str, float | str]]) -> Estimate:
    from lra.sweeps.estimate import Estimate, measure

    if known.get(key, {}).get("source") != "measured":  # a bound is measured again: the data may be there now
        known[key] = asdict(measure(cell))
    return Estimate(**known[key])  # type: ignore[arg-type]


def _steps_behind(cell: Cell) -> int:
    from lra.training.curves import read_curves

    curves = read_curves(cell.folder / "metrics.csv")
    return int(curves[-1]["step"]) if curves else 0


def _states(cells: list[Cell]) -> list[str]:
    """What is to be said of unfinished seeds: running, begun, failed."""
    from lra.sweeps.failure import read_failure
    from lra.sweeps.lease import is_leased

    said = []
    for cell in cells:
        failure, steps = read_failure(cell.folder), _steps_behind(cell)
        if is_leased(cell.folder):
            said.append(f"seed {cell.cfg.seed} running, step {steps:,}")
        elif failure is not None:
            said.append(f"seed {cell.cfg.seed} failed: {failure[0]}")
        elif steps:
            said.append(f"seed {cell.cfg.seed} begun, step {steps:,}")
    return said


def _read_cache(path: Path) -> dict[str, dict[str, float | str]]:
    return dict(json.loads(path.read_text())) if path.exists() else {}


def _write_cache(path: Path, known: dict[str, dict[str, float | str]]) -> None:
    from lra.results.record import replace_text

    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(known, indent=2) + "\n")
