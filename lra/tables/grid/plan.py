"""The plan of a sweep: which cells are finished, and the time and memory that the others need."""

import json
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rich.console import Console

from lra.base.checked_json import parsed_json
from lra.base.files import read_file, replace_text
from lra.base.text import duration_text, hours_text, size_text
from lra.from_config.machine_and_loggers import device_name
from lra.from_config.store import is_prepared
from lra.settings.pretrain import is_pretrained
from lra.tables.grid.cell import Cell
from lra.tables.grid.estimate import Estimate
from lra.tables.grid.measurer import measure_each
from lra.tables.grid.processes_at_once import Measured, proposal
from lra.tables.grid.run_set import RunSet
from lra.terminal.console import work_progress
from lra.terminal.fit_table import wrapped
from lra.types import UserError

CACHE = "plan.json"  # in the run group's folder; keeps estimates, so that the next plan shows the same at once


def print_plan(console: Console, run_set: RunSet) -> None:
    """Print a line for each kind of cell as soon as it is measured, then the sum.

    Cells of one kind differ by the seed alone, or by the point of a search. A line has the finished ones, and time and
    memory of the missing ones. Measuring has a bound in time, see `lra.tables.grid.measurer`; what was measured in
    part is extrapolated, and its line says so.
    """
    kinds: dict[object, list[Cell]] = defaultdict(list)
    for cell in run_set.cells:
        kinds[cell.kind].append(cell)
    width = max(len(_name(cells)) for cells in kinds.values())
    console.print(f"{len(run_set.cells)} cells in {run_set.group}")
    head = _line(width, "cell", "seeds", "done", "s/step", "memory", "hours left")
    console.print(head, style="bold")
    console.print("─" * len(head))
    missing_cells, unknown = 0, 0
    measured: list[Measured] = []
    missing_of = [[cell for cell in cells if not cell.ended] for cells in kinds.values()]
    estimates = _estimates([missing[0] if missing else None for missing in missing_of], run_set.group / CACHE)
    with work_progress(console, len(kinds)) as advance, closing(estimates):
        for index, (cells, missing) in enumerate(zip(kinds.values(), missing_of, strict=True)):
            advance(f"measuring {_name(cells)}", min(index, 1))
            kind = _print_kind(console, width, cells, missing, next(estimates))
            missing_cells += len(missing)
            if kind is not None:
                measured.append(kind)
            else:
                unknown += len(missing)
    hours_left = sum(kind.hours for kind in measured)
    if any(kind.is_extrapolated for kind in measured):
        console.print(
            "extrapolated: the steps were of shorter sequences; their time is scaled by the counted FLOPs, a quadratic"
            " function of the length, and their memory by the length."
        )
    if any(is_pretrained(cell.cfg) for missing in missing_of for cell in missing):
        console.print("pretraining: its steps are counted in, and taken to be as long as those after it.")
    but = f" ({unknown} that could not be measured are not counted)" if unknown else ""
    console.print(
        f"{missing_cells} cells to run, {duration_text(3600 * hours_left)} on {device_name(run_set.cells[0].cfg)}"
        f" one after the other{but}, dev passes and tests counted in; preparing data is not."
        + (f"\nRun them: {run_set.typed_command('run')}" if missing_cells else "")
    )
    if missing_cells > 1 and measured:
        console.print(proposal(run_set, measured))


def _print_kind(
    console: Console, width: int, cells: list[Cell], missing: list[Cell], estimate: Estimate | UserError | None
) -> Measured | None:
    """Print the line of one kind of cell; None if it could not be, or need not be, measured."""
    measured, notes, numbers = None, [], ["–"] * 3
    if isinstance(estimate, Estimate):
        hours = sum(estimate.seconds(cell.cfg, done_steps=cell.run.last_step) for cell in missing) / 3600
        measured = Measured(hours, missing[0], estimate)
        numbers = [f"{estimate.step_seconds:.3f}", size_text(estimate.peak_memory_bytes), hours_text(3600 * hours)]
        notes = [estimate.note] if estimate.note else []
    elif estimate is not None:
        notes = [f"cannot be measured: {estimate}"]
    seeds = ",".join(str(cell.cfg.seed) for cell in cells if not cell.trial)
    line = _line(width, _name(cells), seeds, f"{len(cells) - len(missing)} of {len(cells)}", *numbers)
    notes_text = "; ".join([*notes, *_states(missing)])
    whole = f"{line}  {notes_text}".rstrip()
    if console.is_terminal and len(whole) > console.width:  # the notes on lines of their own, broken between words
        whole = "\n".join([line, *wrapped(f"  {notes_text}", console.width)])
    console.print(whole, style="red" if missing and measured is None else None)
    return measured


def _name(cells: list[Cell]) -> str:
    return f"{cells[0].cfg.task.name}/{cells[0].method}"


def _line(width: int, name: str, *columns: str) -> str:
    widths = (7, 6, 7, 9, 10)
    return f"{name:<{width}}" + "".join(f"  {text:>{size}}" for text, size in zip(columns, widths, strict=True))


def _estimates(cells: Sequence[Cell | None], cache: Path) -> Generator[Estimate | UserError | None, None, None]:
    """Yield the estimate of each cell, from the cache or as soon as it is measured, or why it could not be; None: None.

    Once data is prepared, an upper bound is not used.
    """
    known = _read_cache(cache)
    keys = ["" if cell is None else _key(cell) for cell in cells]
    whole = {field.name for field in fields(Estimate)}  # others are from another version
    to_measure = [index for index, key in enumerate(keys) if key and known.get(key, {}).keys() != whole]
    measured = measure_each([cell.cfg for cell in (cells[index] for index in to_measure) if cell is not None])
    for index, key in enumerate(keys):
        if not key:
            yield None
        elif index not in to_measure:
            yield Estimate(**known[key])
        else:
            estimate = next(measured)
            if isinstance(estimate, Estimate):
                known[key] = asdict(estimate)
                cache.parent.mkdir(parents=True, exist_ok=True)
                replace_text(cache, json.dumps(known, indent=2) + "\n", shared=True)
            yield estimate


def _key(cell: Cell) -> str:
    prepared = "prepared" if is_prepared(cell.cfg) else "bound"
    return f"{cell.run.folder.parent.name}, {device_name(cell.cfg)}, {prepared}"


def _states(cells: list[Cell]) -> list[str]:
    """Word the state of each unfinished seed that has started: running, begun or failed."""
    states = []
    for cell in cells:
        failure, steps = cell.run.failure, cell.run.last_step
        if cell.run.locked:
            states.append(f"{cell.which} running, step {steps:,}")
        elif failure is not None:
            states.append(f"{cell.which} failed: {failure.error}")
        elif steps:
            states.append(f"{cell.which} begun, step {steps:,}")
    return states


def _read_cache(path: Path) -> dict[str, dict[str, Any]]:
    """Read the estimates by kind and device; an unreadable cache counts as empty."""
    try:
        known = parsed_json(read_file(path), path, "") if path.exists() else {}
    except UserError:
        return {}
    return {key: value for key, value in known.items() if isinstance(value, dict)} if isinstance(known, dict) else {}
